// What the scripts say, in the language of the page. The server puts the words on <body>.
const words = JSON.parse(document.body.dataset.words);

const lang = document.documentElement.lang;
export const locale = lang === 'en' ? 'en-GB' : lang;

export function say(key, args = {}) {
  let text = words[key] ?? key;
  if (typeof text !== 'string') text = (args.n === 1 && text.one) || text.other;
  return text.replace(/\{(\w+)\}/g, (whole, name) => args[name] ?? whole);
}

// A length of time, as the server writes it: see format.go.
export function countdown(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return say('dur.s', { s });
  if (s >= 3600) return roughly(ms);
  return s % 60 ? say('dur.ms', { m: Math.floor(s / 60), s: s % 60 }) : say('dur.m', { m: s / 60 });
}

export function roughly(ms) {
  const m = Math.floor(Math.max(0, ms) / 60000);
  if (m < 1) return say('dur.s', { s: Math.floor(Math.max(0, ms) / 1000) });
  if (m < 60) return say('dur.m', { m });
  if (m >= 48 * 60) return say('dur.d', { d: Math.floor(m / 1440) });
  return m % 60 ? say('dur.hm', { h: Math.floor(m / 60), m: m % 60 }) : say('dur.h', { h: m / 60 });
}
