// Older images come by themselves before the end is reached. Pages of them that are far away leave the document and
// come back, fresh, when they are near: what they took keeps its height meanwhile.
import { known } from './live.js';
import { changed, parse } from './morph.js';
import { say } from './words.js';

const walls = document.getElementById('walls');
let busy = false;

const near = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && load(), { rootMargin: '1200px' });
const far = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) fill(target);
    else empty(target);
  }
}, { rootMargin: '4000px' });

async function get(address) {
  const answer = await fetch(address);
  if (!answer.ok || answer.redirected) throw new Error(answer.status);
  return parse(await answer.text());
}

async function load() {
  const link = document.querySelector('.more a');
  if (!link || busy) return;
  busy = true;
  const words = link.textContent;
  const slow = setTimeout(() => { link.textContent = say('gallery.loading'); }, 150);
  try {
    const page = await get(link.href);
    const chunk = document.createElement('div');
    chunk.page = link.href;
    hang(chunk, page);
    walls.append(chunk);
    far.observe(chunk);
    const next = page.querySelector('.more a');
    if (next) link.href = next.href;
    else link.parentNode.remove();
    changed([chunk]);
  } catch { /* the link is still there to follow */ }
  clearTimeout(slow);
  link.textContent = words;
  busy = false;
  near.unobserve(link);
  if (link.isConnected) near.observe(link);
}

// hang puts a page's days into its place. A day that goes on has its heading once, and no gap in the middle.
function hang(chunk, page) {
  const days = [...page.querySelectorAll('#walls > .day')];
  for (const tile of days.flatMap((day) => [...day.querySelectorAll('.tile')])) {
    if (document.getElementById(tile.id)) tile.remove();
    known.add(tile.id);
  }
  chunk.replaceChildren(...days);
  if (!chunk.isConnected) { // for the first time, at the end
    const last = [...walls.querySelectorAll('.day')].at(-1);
    chunk.goesOn = last?.dataset.day === days[0]?.dataset.day;
    if (chunk.goesOn) last.querySelector('.wall').classList.add('runs-on');
  }
  if (chunk.goesOn) {
    days[0]?.querySelector('h2')?.remove();
    days[0]?.classList.add('goes-on');
  }
  if (chunk.runsOn) days.at(-1)?.querySelector('.wall').classList.add('runs-on');
}

function empty(chunk) {
  if (!chunk.firstChild || chunk.contains(document.activeElement) || chunk.querySelector('.box:checked')) return;
  chunk.runsOn = Boolean([...chunk.querySelectorAll('.wall')].at(-1)?.matches('.runs-on'));
  chunk.style.height = chunk.offsetHeight + 'px';
  chunk.replaceChildren();
}

async function fill(chunk) {
  if (chunk.firstChild || chunk.filling) return;
  chunk.filling = true;
  try {
    hang(chunk, await get(chunk.page));
    chunk.style.height = '';
    changed([chunk]);
  } catch { /* it stays as it is until it is near again */ }
  chunk.filling = false;
}

const link = document.querySelector('.more a');
if (walls && link) near.observe(link);
