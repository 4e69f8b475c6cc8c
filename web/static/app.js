// Small things of every page. Each works without: forms are sent and links are followed by the browser.
import { say } from './words.js';
import './times.js';
import './live.js';
import './compose.js';
import './blur.js';
import './wall.js';
import './keys.js';
import './far.js';

// A form with a slow answer is sent once; its button keeps its width and says so.
document.addEventListener('submit', (e) => {
  const button = e.target.querySelector('button[data-sending]');
  if (!button) return;
  if (e.target.dataset.sent) return e.preventDefault();
  e.target.dataset.sent = 'yes';
  const label = button.querySelector('span');
  button.style.minWidth = button.offsetWidth + 'px';
  button.dataset.label = label.textContent;
  button.setAttribute('aria-disabled', 'true');
  label.textContent = button.dataset.sending;
});

// Back shows the page as it was left: let its form be sent again.
addEventListener('pageshow', (e) => {
  if (!e.persisted) return;
  for (const form of document.querySelectorAll('form[data-sent]')) {
    delete form.dataset.sent;
    const button = form.querySelector('button[data-sending]');
    button.removeAttribute('aria-disabled');
    button.querySelector('span').textContent = button.dataset.label;
  }
});

document.addEventListener('click', (e) => {
  const copy = e.target.closest('[data-copy]');
  if (copy) copyText(copy);
  const peek = e.target.closest('.peek');
  if (peek) reveal(peek);
});

async function copyText(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    copyOld(button.dataset.copy); // no clipboard on plain http beyond this machine
  }
  const label = button.querySelector('span') ?? button;
  if (label === button) {
    button.dataset.plain ??= button.getAttribute('aria-label');
    button.setAttribute('aria-label', say('act.copied'));
    button.title = say('act.copied');
  } else {
    label.dataset.plain ??= label.textContent;
    label.textContent = say('act.copied');
  }
  setTimeout(() => {
    if (label === button) button.setAttribute('aria-label', button.dataset.plain);
    else label.textContent = label.dataset.plain;
  }, 1500);
}

function copyOld(text) {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'vh';
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

function reveal(peek) {
  const input = peek.previousElementSibling;
  const show = input.type === 'password';
  input.type = show ? 'text' : 'password';
  peek.setAttribute('aria-pressed', String(show));
  peek.setAttribute('aria-label', say(show ? 'act.hide-password' : 'act.show-password'));
}

// A picture that does not come leaves its muted square, never a broken-image sign.
const gone = (image) => image.classList.add('is-gone');
document.addEventListener('error', (e) => e.target instanceof HTMLImageElement && gone(e.target), true);
document.addEventListener('load', (e) => e.target instanceof HTMLImageElement && e.target.classList.remove('is-gone'), true);
for (const image of document.images) if (image.complete && !image.naturalWidth && image.src) gone(image);

// A theme is seen as soon as it is chosen, and kept when the form is saved.
document.querySelector('[data-themes]')?.addEventListener('change', (e) => {
  if (e.target.value) document.documentElement.dataset.theme = e.target.value;
  else delete document.documentElement.dataset.theme;
});

(document.querySelector('.summary') ?? document.querySelector('[aria-invalid]'))?.focus();
