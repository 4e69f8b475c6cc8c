// What the server sends is put into the page with as little change as there can be: pictures that are there stay, and
// so do the focus and what is ticked. Each part has an id and takes the place of the one that has it.
const kept = new Set(['style', 'open', 'data-sent', 'tabindex']); // of the page, not of the server

export const parse = (html) => new DOMParser().parseFromString(html, 'text/html');

// put brings a part to the page, unless the page has no place for it.
export function put(part) {
  const old = part.id && document.getElementById(part.id);
  if (old) morph(old, part);
  return old;
}

export const changed = (what) => document.dispatchEvent(new CustomEvent('changed', { detail: what }));

export function morph(old, now) {
  if (old.nodeType !== 1) {
    if (old.data !== now.data) old.data = now.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!kept.has(name) && !now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) {
    if (!kept.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  let at = old.firstChild;
  for (const child of now.childNodes) {
    let match = at;
    while (match && (match.nodeName !== child.nodeName || match.id !== child.id)) match = match.nextSibling;
    if (!match) {
      old.insertBefore(document.importNode(child, true), at);
      continue;
    }
    while (at !== match) at = drop(at);
    morph(match, child);
    at = match.nextSibling;
  }
  while (at) at = drop(at);
}

function drop(node) {
  const next = node.nextSibling;
  if (!node.dataset || !('own' in node.dataset)) node.remove(); // what a script put there stays
  return next;
}
