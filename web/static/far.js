// The page of an import tells how far it is: it asks again when something changed, twice a second at most.
import { put } from './morph.js';
import { ask } from './send.js';

const part = document.getElementById('import');
let waiting = 0;

if (part) {
  document.addEventListener('changed', () => {
    waiting ||= setTimeout(async () => {
      const page = await ask(part.dataset.again);
      waiting = 0;
      const now = page?.getElementById('import');
      if (now) put(now);
    }, 500);
  });
}
