// The form of the page "create": draft, counter, what the chosen model takes.
import { say } from './words.js';

const form = document.querySelector('form[data-draft]');
const draft = 'afterimage.draft';

function keep(text) {
  try {
    if (text) localStorage.setItem(draft, text);
    else localStorage.removeItem(draft);
  } catch { /* a private window without storage: no draft */ }
}

function kept() {
  try { return localStorage.getItem(draft); } catch { return null; }
}

if (form) {
  const prompt = form.elements.prompt;
  const counter = document.getElementById('prompt-count');
  const model = form.elements.model;

  const count = () => {
    const n = [...prompt.value].length;
    counter.textContent = n ? say('create.count', { n, max: counter.dataset.max }) : '';
  };

  // fit keeps to the sizes and the count that the model takes.
  const fit = () => {
    const { sizes, max } = model.selectedOptions[0].dataset;
    limit(form.elements.size, (o) => sizes.split(' ').includes(o.value));
    limit(form.elements.n, (o) => !max || Number(o.value) <= Number(max));
  };

  const limit = (select, fits) => {
    for (const option of select.options) option.hidden = option.disabled = !fits(option);
    if (select.selectedOptions[0]?.disabled) select.value = [...select.options].find((o) => !o.disabled)?.value ?? '';
  };

  if ('accepted' in form.dataset) keep('');
  if (!prompt.value) prompt.value = kept() ?? '';
  prompt.setSelectionRange(prompt.value.length, prompt.value.length);
  prompt.addEventListener('input', () => { keep(prompt.value); count(); });
  prompt.addEventListener('keydown', (e) => {
    if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey) || e.isComposing) return;
    e.preventDefault();
    form.requestSubmit();
  });
  model.addEventListener('change', fit);
  fit();
  count();
}
