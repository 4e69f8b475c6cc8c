// Live states. The stream is read by hx-sse and put into the page by htmx; this file keeps the
// connection alive, says how it is, and tells what changed.
import { countdown, say } from './words.js';

const chip = document.getElementById('live');
const said = document.getElementById('said');
const news = document.getElementById('news');
const title = document.title;

let node = null; // the element of the present connection; null while there is none
let connection = null;
let lastId = '';
let tries = 0;
let timer = 0;
let rest = 0;
const unseen = new Set();

function connect() {
  clearInterval(timer);
  clearTimeout(rest);
  disconnect();
  const url = new URL(chip.dataset.url, location.href);
  if (lastId) url.searchParams.set('since', lastId);
  node = document.createElement('div');
  node.hidden = true;
  node.setAttribute('hx-sse:connect', url.pathname + url.search);
  node.setAttribute('hx-swap', 'none');
  listen(node);
  document.body.append(node);
  window.htmx.process(node);
  // htmx looks through the page once more when it starts: a second stream.
  node.removeAttribute('hx-sse:connect');
}

function disconnect() {
  const old = node;
  node = null;
  connection?.reader?.cancel().catch(() => {});
  connection?.abortController?.abort();
  connection = null;
  if (old) {
    window.htmx.trigger(old, 'htmx:abort');
    old.remove();
  }
}

function listen(mine) {
  const lose = () => mine === node && lost();
  mine.addEventListener('htmx:sse:after:connection', (e) => {
    connection = e.detail.connection;
    tries = 0;
    show('on', say('live.on'));
  });
  mine.addEventListener('htmx:sse:before:message', (e) => notice(e.detail.message.data));
  mine.addEventListener('htmx:sse:after:message', (e) => { if (e.detail.message.id) lastId = e.detail.message.id; });
  for (const name of ['htmx:sse:close', 'htmx:sse:error', 'htmx:error', 'htmx:response:error']) mine.addEventListener(name, lose);
}

// lost waits twice as long each time, up to half a minute, and says when it tries again.
function lost() {
  disconnect();
  const at = Date.now() + Math.min(30000, 1000 * 2 ** tries) * (0.8 + Math.random() * 0.4);
  tries += 1;
  clearInterval(timer);
  const tick = () => {
    if (Date.now() >= at) return connect();
    show('lost', say('live.again', { time: countdown(Math.max(1000, at - Date.now())) }), true);
  };
  tick();
  timer = setInterval(tick, 500);
}

// show makes new elements when the state changes: one that grows would be a layout shift.
function show(state, text, again = false) {
  chip.title = navigator.onLine ? '' : say('live.offline');
  if (chip.dataset.is === state) {
    chip.querySelector('.live-text').textContent = text;
    return;
  }
  chip.dataset.is = state;
  const words = element('span', 'live-text', text);
  chip.replaceChildren(element('span', 'dot', ''), words);
  if (!again) return;
  const button = element('button', 'link', say('live.now'));
  button.type = 'button';
  button.addEventListener('click', connect);
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
function notice(data) {
  if (!news) return;
  for (const [, id] of data.matchAll(/hx-target="#(tile-[\w-]+)"/g)) {
    if (!document.getElementById(id) && !/data-state="trashed"/.test(data)) unseen.add(id);
  }
  if (!unseen.size) return;
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
  if (!node) connect();
}

if (chip && window.htmx) {
  window.htmx.config.sse = { reconnect: false, pauseOnBackground: false };
  chip.hidden = false;
  show('off', say('live.connecting'));
  document.addEventListener('htmx:after:swap', compare);
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
