// The lightbox shows the page of an image over the wall. It has the image's own address, so that Back closes it and a
// reload shows the page itself.
import { changed, morph } from './morph.js';
import { picking, tiles } from './pick.js';
import { ask } from './send.js';
import { say } from './words.js';

const home = location.pathname + location.search;
const homeTitle = document.title;
let box = null;
let shown = ''; // the id of the image
let way = {}; // the pages before and after

const idOf = (address) => /^\/i\/(\w+)$/.exec(new URL(address, location.href).pathname)?.[1];
const tileOf = (id) => document.getElementById('tile-' + id);

function make() {
  box = document.createElement('dialog');
  box.className = 'box-dialog';
  box.tabIndex = -1;
  box.setAttribute('aria-label', say('box.pages'));
  box.addEventListener('close', closed);
  document.body.append(box);
}

// show opens an image, or goes on to it.
export async function show(id, push = true) {
  const page = await ask('/i/' + id);
  const article = page?.querySelector('article.detail');
  if (!article) return;
  if (!box) make();
  way = { prev: link(page, 'prev'), next: link(page, 'next') };
  const bar = page.querySelector('.crumbs');
  bar.firstElementChild.setAttribute('data-close', '');
  box.replaceChildren(bar, article);
  step(bar, 'prev', beside(id, -1));
  step(bar, 'next', beside(id, 1));
  shown = id;
  if (push) history.pushState({ box: id }, '', '/i/' + id);
  document.title = page.title;
  if (!box.open) box.showModal();
  box.scrollTop = 0;
  box.focus();
  changed([article]);
}

const link = (page, rel) => idOf(page.querySelector(`.crumbs [rel="${rel}"]`)?.href ?? '/');

// beside is the image that hangs beside one on this wall, or else in the whole gallery.
function beside(id, by) {
  const all = tiles();
  const at = all.indexOf(tileOf(id));
  return (at >= 0 && all[at + by]?.id.slice(5)) || way[by < 0 ? 'prev' : 'next'];
}

function step(bar, rel, id) {
  const a = bar.querySelector(`[rel="${rel}"]`);
  if (a && id) a.href = '/i/' + id;
}

export function go(by) {
  const id = beside(shown, by);
  if (id) show(id, false).then(() => history.replaceState({ box: id }, '', '/i/' + id));
}

export const isOpen = () => Boolean(box?.open);

function closed() {
  if (history.state?.box) history.back();
  else leave();
}

function leave() {
  document.title = homeTitle;
  const tile = tileOf(shown);
  tile?.scrollIntoView({ block: 'nearest' });
  tile?.querySelector('a').focus();
  box.replaceChildren();
  shown = '';
}

const keys = {
  ArrowLeft: () => go(-1),
  ArrowRight: () => go(1),
  i: () => box.classList.toggle('is-bare'),
  z: () => box.classList.toggle('is-large'),
  f: () => (document.fullscreenElement ? document.exitFullscreen() : box.requestFullscreen()),
};

// key is what the keyboard does here; false if nothing.
export function key(name) {
  if (!keys[name]) return false;
  keys[name]();
  return true;
}

if (document.querySelector('[data-keys]')) {
  document.addEventListener('click', (e) => {
    const a = e.target.closest('a');
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button || e.defaultPrevented) return;
    if (a.matches('[data-close]')) {
      e.preventDefault();
      box.close();
    } else if (a.matches('[data-keys] .tile-link') && !picking()) {
      e.preventDefault();
      show(idOf(a.href));
    } else if (isOpen() && a.matches('.crumbs [rel]')) {
      e.preventDefault();
      go(a.rel === 'prev' ? -1 : 1);
    } else if (isOpen() && a.matches('.hero')) {
      e.preventDefault();
      box.classList.toggle('is-large');
    }
  });
  addEventListener('popstate', (e) => {
    if (e.state?.box) show(e.state.box, false);
    else if (isOpen()) box.close();
    else if (location.pathname + location.search !== home) location.reload();
  });
  // What changes about the image is told by its tile.
  document.addEventListener('changed', async (e) => {
    if (!isOpen() || !e.detail?.some((part) => part.id === 'tile-' + shown)) return;
    const page = await ask('/i/' + shown);
    const [now, old] = [page?.querySelector('article.detail'), box.querySelector('article.detail')];
    if (now && old?.id === now.id) morph(old, now);
  });
}
