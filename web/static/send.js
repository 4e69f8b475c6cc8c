// Forms on a wall and in the lightbox are sent without leaving the page. What the server says afterwards is the same
// page that it would show without scripts: its notice is shown here, and its parts are put in place.
import { changed, parse, put } from './morph.js';
import { say } from './words.js';

const place = document.getElementById('toast');
let timer = 0;
let gone = []; // what was taken off the wall last, to be put back

export const post = 'POST';

// ask fetches a page of ours; null if there was none, which is then said.
export async function ask(address, init) {
  let answer;
  try {
    answer = await fetch(address, init);
  } catch {
    return tell(say('box.offline'));
  }
  const to = new URL(answer.url);
  if (to.pathname === '/sign-in' && location.pathname !== '/sign-in') {
    location.href = to;
    return null;
  }
  if (!answer.ok) return tell(say('box.failed', { status: answer.status }));
  return parse(await answer.text());
}

function tell(words) {
  toast([words], true);
  return null;
}

export function toast(content, stays = false) {
  clearTimeout(timer);
  (document.querySelector('dialog[open]') ?? document.body).append(place);
  const close = document.createElement('button');
  close.className = 'link';
  close.textContent = '×';
  close.setAttribute('aria-label', say('box.close'));
  close.addEventListener('click', () => place.replaceChildren());
  place.replaceChildren(...content, close);
  const leave = () => {
    if (place.matches(':hover, :focus-within')) timer = setTimeout(leave, 2000);
    else place.replaceChildren();
  };
  if (!stays) timer = setTimeout(leave, 8000);
}

export const undo = () => document.querySelector('[data-undo]')?.requestSubmit();

// takeOff removes tiles from the wall; putBack undoes the last time.
export function takeOff(tiles) {
  gone = tiles.map((tile) => [tile, tile.parentNode, tile.nextSibling]).reverse();
  for (const tile of tiles) {
    const day = tile.closest('.day');
    tile.remove();
    if (day) day.hidden = !day.querySelector('.tile');
  }
  changed(tiles);
}

function putBack() {
  if (!gone.length) location.reload();
  for (const [tile, wall, next] of gone) {
    wall.insertBefore(tile, next?.parentNode === wall ? next : null);
    wall.closest('.day').hidden = false;
  }
  changed(gone.map(([tile]) => tile));
  gone[0]?.[0].querySelector('a').focus();
  gone = [];
}

document.addEventListener('submit', async (e) => {
  const form = e.target;
  const act = e.submitter?.name === 'action' ? e.submitter.value : form.getAttribute('action').split('/').pop();
  if (!form.matches('.tile form, dialog form, .bulk, [data-undo]') || e.defaultPrevented) return;
  if (form.method !== 'post' || /create$|download|delete$/.test(act) || form.elements.all?.checked) return;
  e.preventDefault();
  const body = new URLSearchParams(new FormData(form, e.submitter));
  const tiles = form.matches('.bulk') ? [...document.querySelectorAll('.tile:has(.box:checked)')] : tilesOf(form);
  const page = await ask(form.getAttribute('action'), { method: post, body });
  if (!page) return;
  const notice = page.querySelector('.notice[role="status"]');
  if (notice) toast([...notice.childNodes], notice.matches('.notice-bad'));
  const parts = [...page.querySelectorAll('article.detail, .tile')].filter(put);
  if (form.matches('[data-undo]')) putBack();
  else if (/^(trash|restore)$/.test(act)) takeOff(tiles);
  changed(parts);
  document.dispatchEvent(new CustomEvent('done'));
});

function tilesOf(form) {
  const one = form.closest('.tile') ?? document.getElementById((form.closest('article')?.id ?? '').replace('image-', 'tile-'));
  return one ? [one] : [];
}
