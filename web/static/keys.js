// The keyboard. Single letters do nothing while somebody types, nor with a modifier, and can be switched off.
import * as box from './box.js';
import { end, pick, pickAll, picked, picking, tiles } from './pick.js';
import { undo } from './send.js';
import { say } from './words.js';

const pages = { c: '/create', g: '/', t: '/trash', s: '/settings', o: '/ops/jobs' };
let gone = 0; // when G was pressed

const map = [
  ['?', 'key.help'], ['/', 'key.search'], ['N', 'key.new'], ['G', 'key.go'], ['↑ ↓ ← →', 'key.move'], ['Enter', 'key.open'],
  ['X', 'key.select'], ['Ctrl A', 'key.all'], ['R', 'key.retry'], ['E', 'key.recreate'], ['D', 'key.download'], ['Del', 'key.trash'],
  ['U', 'key.undo'], ['Esc', 'key.esc'], ['I', 'key.info'], ['Z', 'key.zoom'], ['F', 'key.full'], ['Ctrl Enter', 'key.generate'],
];

const here = () => document.activeElement?.closest('.tile');
const focus = (tile) => tile?.querySelector(picking() ? '.box' : 'a')?.focus();

// move goes to the tile that lies nearest in a direction.
function move(name) {
  const from = here();
  if (!from) return focus(tiles()[0]);
  const all = tiles();
  const at = all.indexOf(from);
  if (name === 'ArrowLeft') return focus(all[at - 1]);
  if (name === 'ArrowRight') return focus(all[at + 1]);
  const down = name === 'ArrowDown';
  const middle = (r) => (r.left + r.right) / 2;
  const own = from.getBoundingClientRect();
  let best = null;
  for (const tile of down ? all.slice(at + 1) : all.slice(0, at).reverse()) {
    const rect = tile.getBoundingClientRect();
    if (down ? rect.top < own.bottom - 4 : rect.bottom > own.top + 4) continue;
    if (best && (down ? rect.top > best.top + 4 : rect.bottom < best.bottom - 4)) break;
    const off = Math.abs(middle(rect) - middle(own));
    if (!best || off < best.off) best = { tile, off, top: best?.top ?? rect.top, bottom: best?.bottom ?? rect.bottom };
  }
  focus(best?.tile);
}

// act sends a form of the image that has the focus; the lightbox has all of them.
function act(name) {
  const article = document.querySelector('dialog article.detail, article.detail');
  const id = article?.id.slice(6) ?? here()?.id.slice(5);
  if (picking() && picked().length && name !== 'recreate') return document.querySelector(`#bulk [value="${name}"]`)?.click();
  if (!id) return;
  if (name === 'download') location.href = `/img/${id}?download=1`;
  else if (name === 'recreate') location.href = `/create?from=${id}`;
  else send(`/i/${id}/${name}`, here());
}

function send(action, tile) {
  const form = document.querySelector(`form[action="${action}"]`) ?? Object.assign(document.createElement('form'), { method: 'post', hidden: true });
  if (!form.isConnected) {
    form.setAttribute('action', action);
    (tile ?? document.body).append(form);
  }
  form.requestSubmit();
}

function help() {
  const dialog = document.createElement('dialog');
  dialog.className = 'keys-help';
  const head = Object.assign(document.createElement('h2'), { textContent: say('key.title') });
  const list = document.createElement('dl');
  for (const [keys, word] of map) {
    const term = document.createElement('dt');
    term.append(...keys.split(' ').filter(Boolean).map((k) => Object.assign(document.createElement('kbd'), { textContent: k })));
    list.append(term, Object.assign(document.createElement('dd'), { textContent: say(word) }));
  }
  const close = Object.assign(document.createElement('button'), { className: 'btn', textContent: say('key.close') });
  close.addEventListener('click', () => dialog.close());
  dialog.append(head, list, close);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const letters = {
  '/': () => { const q = document.getElementById('q'); q?.focus(); q?.select(); return q; },
  '?': help,
  n: () => { location.href = pages.c; },
  g: () => { gone = Date.now(); },
  x: () => here() && pick(here()),
  r: () => act('retry'),
  e: () => act('recreate'),
  d: () => act('download'),
  u: undo,
  Delete: () => act('trash'),
  Escape: end,
};

function off() {
  try { return localStorage.getItem('afterimage.keys') === 'off'; } catch { return false; }
}

document.addEventListener('keydown', (e) => {
  if (e.isComposing || e.altKey || e.target.closest?.('textarea, select, [contenteditable], input:not([type="checkbox"])')) return;
  const name = e.key.length === 1 ? e.key.toLowerCase() : e.key;
  const inBox = box.isOpen();
  if (e.ctrlKey || e.metaKey) {
    if (name === 'a' && !inBox && tiles().length) { e.preventDefault(); pickAll(); }
    return;
  }
  if (off() && name.length === 1) return;
  if (document.querySelector('.keys-help')) return;
  if (gone && Date.now() - gone < 1500 && pages[name]) {
    location.href = pages[name];
    return;
  }
  if (inBox && box.key(name)) return e.preventDefault();
  if (name.startsWith('Arrow') && !inBox && (here() || e.target === document.body) && tiles().length) {
    e.preventDefault();
    const from = here();
    move(name);
    if (e.shiftKey && from && here()) { if (!from.querySelector('.box')?.checked) pick(from); pick(here(), true); focus(here()); }
    return;
  }
  if (letters[name] && !(inBox && name === 'Escape')) {
    if (name === '/' || name === '?') e.preventDefault();
    letters[name]();
  }
});
