// The form of the page "create": draft, counter, what the chosen model takes.
import { say } from './words.js';

const form = document.querySelector('form[data-draft]');
const draft = 'afterimage.draft';

function keep(text) {
  try {
    if (text) localStorage.setItem(draft, text);
    else localStorage.removeItem(draft);
  } catch { /* a private window without storage: no draft */ }
}

function kept() {
  try { return localStorage.getItem(draft); } catch { return null; }
}

if (form) {
  const prompt = form.elements.prompt;
  const counter = document.getElementById('prompt-count');
  const model = form.elements.model;

  const count = () => {
    const n = [...prompt.value].length;
    counter.textContent = n ? say('create.count', { n, max: counter.dataset.max }) : '';
  };

  // fit keeps to what the model takes.
  const fit = () => {
    const { sizes, max, has } = model.selectedOptions[0].dataset;
    for (const part of form.querySelectorAll('[data-needs]')) {
      part.hidden = !has.includes(part.dataset.needs);
      for (const input of part.querySelectorAll('input')) input.disabled = part.hidden;
    }
    for (const set of form.querySelectorAll('[data-model]')) set.hidden = set.disabled = set.dataset.model !== model.value;
    form.querySelector('[data-further]').hidden = !/negative|seed|options/.test(has);
    limit(form.elements.size, (o) => sizes.split(' ').includes(o.value));
    limit(form.elements.n, (o) => !max || Number(o.value) <= Number(max));
  };

  const limit = (select, fits) => {
    for (const option of select.options) option.hidden = option.disabled = !fits(option);
    if (select.selectedOptions[0]?.disabled) select.value = [...select.options].find((o) => !o.disabled)?.value ?? '';
  };

  if ('accepted' in form.dataset) keep('');
  if (!prompt.value) prompt.value = kept() ?? '';
  prompt.setSelectionRange(prompt.value.length, prompt.value.length);
  prompt.addEventListener('input', () => { keep(prompt.value); count(); });
  prompt.addEventListener('keydown', (e) => {
    if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey) || e.isComposing) return;
    e.preventDefault();
    form.requestSubmit();
  });
  model.addEventListener('change', fit);
  startFrom(form, model, fit);
  fit();
  count();
}

// An image that is chosen, pasted or dropped is what to start from. The model gives way to one that can.
function startFrom(form, model, fit) {
  const input = form.elements.image;
  const able = [...model.options].find((o) => o.dataset.has.includes('inputs'));
  if (!input || !able) return;
  const take = (files) => {
    const image = [...files].find((f) => f.type.startsWith('image/'));
    if (!image) return false;
    if (!model.selectedOptions[0].dataset.has.includes('inputs')) model.value = able.value;
    fit();
    const bag = new DataTransfer();
    bag.items.add(image);
    input.files = bag.files;
    preview();
    return true;
  };
  const preview = () => {
    form.querySelector('.from')?.remove();
    const image = input.files[0];
    if (!image) return;
    const line = document.createElement('p');
    line.className = 'from';
    const picture = new Image(48, 48);
    picture.alt = '';
    picture.src = URL.createObjectURL(image);
    picture.onload = () => URL.revokeObjectURL(picture.src);
    const drop = Object.assign(document.createElement('button'), { type: 'button', className: 'link', textContent: say('create.from.drop') });
    drop.addEventListener('click', () => { input.value = ''; preview(); });
    line.append(picture, Object.assign(document.createElement('span'), { textContent: image.name || say('create.from') }), drop);
    form.querySelector('.tools').before(line);
  };
  input.addEventListener('change', preview);
  form.elements.prompt.addEventListener('paste', (e) => { if (take(e.clipboardData.files)) e.preventDefault(); });
  const over = (on) => form.classList.toggle('is-over', on);
  document.addEventListener('dragover', (e) => {
    if (!e.dataTransfer.types.includes('Files')) return;
    e.preventDefault();
    over(true);
  });
  document.addEventListener('dragleave', (e) => e.relatedTarget || over(false));
  document.addEventListener('drop', (e) => {
    over(false);
    if (take(e.dataTransfer.files)) e.preventDefault();
  });
  form.querySelector('.from [data-drop]')?.addEventListener('click', (e) => { e.preventDefault(); e.target.parentNode.remove(); });
}
