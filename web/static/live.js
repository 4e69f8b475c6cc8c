// Live states: this file keeps the stream of events open, says how it is, puts what comes into the page, and tells
// what changed.
import { changed, parse, put } from './morph.js';
import { countdown, locale, say } from './words.js';

const chip = document.getElementById('live');
const said = document.getElementById('said');
const news = document.getElementById('news');
const title = document.title;

let source = null;
let lastId = '';
let tries = 0;
let timer = 0;
let asOf = null; // since when the page is not told, while it is not
let rest = 0;
const unseen = new Set();

// known are the tiles that the page has or had: what scrolled far away is not in it.
export const known = new Set([...document.querySelectorAll('.tile')].map((e) => e.id));

function connect() {
  clearInterval(timer);
  clearTimeout(rest);
  disconnect();
  const url = new URL(chip.dataset.url, location.href);
  if (lastId) url.searchParams.set('since', lastId);
  source = new EventSource(url);
  source.onopen = () => {
    tries = 0;
    show('on', say('live.on'));
  };
  source.onmessage = (e) => {
    lastId = e.lastEventId || lastId;
    receive(parse(e.data).body);
  };
  source.onerror = lost;
}

function disconnect() {
  source?.close();
  source = null;
}

function receive(parts) {
  const came = [...parts.children];
  for (const part of came) if (!put(part)) notice(part);
  changed(came);
}

// lost waits twice as long each time, up to half a minute, and says when it tries again.
function lost() {
  disconnect();
  if (tries === 1) ended();
  asOf ??= new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format();
  const at = Date.now() + Math.min(30000, 1000 * 2 ** tries) * (0.8 + Math.random() * 0.4);
  tries += 1;
  clearInterval(timer);
  const tick = () => {
    if (Date.now() >= at) return connect();
    show('lost', say('live.again', { time: countdown(Math.max(1000, at - Date.now())) }), say('live.now'));
  };
  tick();
  timer = setInterval(tick, 500);
}

// ended finds out whether the stream failed because there is no session any more.
async function ended() {
  const answer = await fetch(location.href, { method: 'HEAD', redirect: 'manual' }).catch(() => null);
  if (answer?.type !== 'opaqueredirect') return;
  clearInterval(timer);
  disconnect();
  show('ended', say('live.ended'), say('live.sign-in'));
}

const again = () => {
  if (chip.dataset.is === 'ended') location.reload();
  else connect();
};

// show makes new elements when the state changes: one that grows would be a layout shift.
function show(state, text, act) {
  if (state === 'on') asOf = null;
  document.body.classList.toggle('is-stale', Boolean(asOf));
  chip.title = !navigator.onLine ? say('live.offline') : asOf ? say('live.asof', { time: asOf }) : '';
  if (chip.dataset.is === state) {
    chip.querySelector('.live-text').textContent = text;
    return;
  }
  chip.dataset.is = state;
  const words = element('span', 'live-text', text);
  chip.replaceChildren(element('span', 'dot', ''), words);
  if (!act) return;
  const button = element('button', 'link', act);
  button.type = 'button';
  button.addEventListener('click', again);
  chip.append(button);
  words.style.minWidth = words.offsetWidth + 'px';
}

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

// notice counts images that this page does not have yet.
function notice(part) {
  if (!news || !part.id.startsWith('tile-') || known.has(part.id) || part.dataset.state === 'trashed') return;
  unseen.add(part.id);
  news.hidden = false;
  news.querySelector('a').textContent = say('live.new', { n: unseen.size });
}

// What changed since it was last told, for screen readers: one sentence in five seconds at most.
let states = look();
let told = { archived: 0, failed: 0 };
let telling = 0;

function look() {
  return new Map([...document.querySelectorAll('[data-state]')].map((e) => [e.id, e.dataset.state]));
}

function compare() {
  const now = look();
  for (const [id, state] of now) {
    if (!states.has(id) || states.get(id) === state) continue;
    if (state === 'archived') {
      told.archived += 1;
      document.getElementById(id).classList.add('is-fresh');
    }
    if (state.endsWith('_failed') || state === 'unknown') told.failed += 1;
  }
  states = now;
  badge();
  if (told.archived + told.failed && !telling) telling = setTimeout(tell, 1000);
}

function tell() {
  const parts = [];
  if (told.archived) parts.push(say('live.archived', { n: told.archived }));
  if (told.failed) parts.push(say('live.failed', { n: told.failed }));
  if (parts.length) said.textContent = parts.join(' ');
  told = { archived: 0, failed: 0 };
  telling = setTimeout(() => { telling = 0; if (told.archived + told.failed) tell(); }, 5000);
}

// The title says how many are on their way, and for a moment that all are kept.
let pending = 0;

function badge() {
  const before = pending;
  pending = document.querySelectorAll('[data-pending]').length;
  if (pending) document.title = `(${pending}) ${title}`;
  else if (before) {
    document.title = `✓ ${title}`;
    setTimeout(() => { if (!pending) document.title = title; }, 5000);
  }
}

function resume() {
  clearTimeout(rest);
  if (!source) connect();
}

if (chip) {
  chip.hidden = false;
  show('off', say('live.connecting'));
  document.addEventListener('changed', compare);
  badge();
  connect();
  // A hidden tab with nothing on its way gives its connection back: a browser has only six for a site.
  document.addEventListener('visibilitychange', () => {
    clearTimeout(rest);
    if (!document.hidden) resume();
    else rest = setTimeout(() => pending || (clearInterval(timer), disconnect()), 30000);
  });
  // The back-forward cache takes no page with an open stream.
  addEventListener('pagehide', () => { clearInterval(timer); disconnect(); });
  addEventListener('pageshow', (e) => e.persisted && resume());
  addEventListener('online', connect);
}
