// Selecting: the button, a long press or X begins it. Then the one stop of each tile is its box.
import { say } from './words.js';

const walls = document.getElementById('walls');
const bulk = document.getElementById('bulk');
let last = null;
let press = 0;

export const tiles = () => [...document.querySelectorAll('[data-keys] .tile')];
export const picking = () => Boolean(bulk && !bulk.hidden);
export const picked = () => tiles().filter((tile) => tile.querySelector('.box')?.checked);

export function begin() {
  if (!bulk) return;
  bulk.hidden = false;
  dress();
}

export function end() {
  if (!picking()) return;
  bulk.hidden = true;
  bulk.reset();
  for (const tile of tiles()) {
    tile.querySelector('.box')?.remove();
    tile.querySelector('a').removeAttribute('tabindex');
  }
  count();
}

// dress gives each tile its box.
function dress() {
  for (const tile of tiles()) {
    const link = tile.querySelector('a');
    link.tabIndex = -1;
    if (tile.querySelector('.box')) continue;
    const box = document.createElement('input');
    Object.assign(box, { type: 'checkbox', className: 'box', name: 'id', value: tile.id.slice(5) });
    box.setAttribute('form', 'bulk');
    box.setAttribute('aria-label', link.textContent.trim() || link.querySelector('img')?.alt);
    box.dataset.own = '';
    tile.prepend(box);
  }
  count();
}

function count() {
  const n = picked().length;
  bulk.querySelector('[data-n]').textContent = say('bulk.n', { n });
  walls.classList.toggle('is-picking', picking());
}

export function pick(tile, range = false) {
  begin();
  const box = tile.querySelector('.box');
  const on = !box.checked;
  const all = tiles();
  const [from, to] = [all.indexOf(range && last ? last : tile), all.indexOf(tile)].sort((a, b) => a - b);
  for (const one of all.slice(Math.max(0, from), to + 1)) one.querySelector('.box').checked = on;
  last = tile;
  count();
}

export function pickAll() {
  begin();
  for (const tile of tiles()) tile.querySelector('.box').checked = true;
  count();
}

if (walls && bulk) {
  walls.addEventListener('click', (e) => {
    const tile = e.target.closest('.tile');
    if (!tile || !picking() || e.target.closest('form')) return;
    if (e.target.matches('.box')) {
      if (!e.shiftKey || !last) last = tile;
      else {
        e.target.checked = !e.target.checked;
        pick(tile, true);
      }
    } else if (!e.ctrlKey && !e.metaKey) {
      e.preventDefault();
      pick(tile, e.shiftKey);
    }
  });
  walls.addEventListener('change', count);
  walls.addEventListener('pointerdown', (e) => {
    const tile = e.pointerType === 'touch' && e.target.closest('.tile');
    if (tile && !picking()) press = setTimeout(() => { pick(tile); navigator.vibrate?.(10); }, 500);
  });
  for (const name of ['pointerup', 'pointercancel', 'pointermove', 'scroll']) walls.addEventListener(name, () => clearTimeout(press));
  walls.addEventListener('contextmenu', (e) => picking() && e.pointerType === 'touch' && e.preventDefault());
  document.addEventListener('click', (e) => {
    const button = e.target.closest('[data-select], [data-clear]');
    if (!button) return;
    e.preventDefault();
    if (picking()) end();
    else begin();
  });
  document.addEventListener('changed', () => picking() && dress());
  document.addEventListener('done', end);
  if (picking()) dress();
}
