// Times that count, and times of day in the browser's zone.
import { countdown, locale, roughly, say } from './words.js';

const forms = {
  clock: { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  second: { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  date: { day: 'numeric', month: 'long', year: 'numeric' },
};
const writers = Object.fromEntries(Object.entries(forms).map(([name, form]) => [name, new Intl.DateTimeFormat(locale, form)]));
const whole = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long' });

const counted = {
  up: (at, now) => countdown(now - at),
  down: (at, now) => (at > now ? countdown(at - now) : say('dur.s', { s: 0 })),
  left: (at, now) => (at - now > 300000 ? roughly(at - now) : countdown(at - now)),
  ago: (at, now) => (now - at < 60000 ? say('ago.now') : say('ago', { time: roughly(now - at) })),
};

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function count() {
  const now = Date.now();
  for (const element of document.querySelectorAll('time[data-count]')) {
    const at = Date.parse(element.dateTime);
    const left = element.dataset.count === 'left';
    const chip = left && element.closest('.chip');
    if (chip) {
      const wait = at - now;
      chip.className = 'chip chip-' + (wait <= 0 ? 'over' : wait < 300000 ? 'now' : wait < 900000 ? 'soon' : 'calm');
      if (wait <= 0) {
        element.parentNode.textContent = say('expiry.over');
        continue;
      }
    }
    set(element, counted[element.dataset.count](at, now));
  }
}

export function tellAgain() {
  for (const element of document.querySelectorAll('time[data-form]')) {
    const at = new Date(element.dateTime);
    set(element, writers[element.dataset.form].format(at));
    element.title = whole.format(at);
  }
}

// The next page comes with the right times at once.
document.cookie = 'tz=' + encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone) + ';path=/;max-age=31536000;samesite=lax';

tellAgain();
count();
setInterval(() => document.hidden || count(), 1000);
document.addEventListener('visibilitychange', () => document.hidden || count());
document.addEventListener('changed', () => { tellAgain(); count(); });
