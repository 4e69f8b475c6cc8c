// While a picture is on its way its place has its colour and, if that takes long, a blur of it. Both are read from a
// thumbhash (data-hash): an average colour and the lowest frequencies of brightness, colour and alpha, in 4 bits each.
const patience = 150; // ms
const { PI, cos, max, min, round } = Math;

function read(text) {
  const b = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const first = b[0] | b[1] << 8 | b[2] << 16;
  const second = b[3] | b[4] << 8;
  const clear = first >> 23;
  const long = clear ? 5 : 7;
  const [lx, ly] = second >> 15 ? [long, second & 7] : [second & 7, long];
  let at = (clear ? 6 : 5) * 2;
  const channel = (mean, scale, nx, ny) => {
    const waves = [];
    for (let y = 0; y < ny; y += 1) {
      for (let x = y ? 0 : 1; x * ny < nx * (ny - y); x += 1, at += 1) {
        waves.push([x, y, ((b[at >> 1] >> (at & 1) * 4 & 15) / 7.5 - 1) * scale * 2]);
      }
    }
    return { mean, waves };
  };
  // Colours are drawn a little stronger, for what the rounding took away. The order is that of the bytes.
  const l = channel((first & 63) / 63, (first >> 18 & 31) / 31, max(3, lx), max(3, ly));
  const p = channel((first >> 6 & 63) / 31.5 - 1, (second >> 3 & 63) / 63 * 1.25, 3, 3);
  const q = channel((first >> 12 & 63) / 31.5 - 1, (second >> 9 & 63) / 63 * 1.25, 3, 3);
  const a = clear ? channel((b[5] & 15) / 15, (b[5] >> 4) / 15, 5, 5) : { mean: 1, waves: [] };
  return { ratio: lx / ly, channels: [l, p, q, a] };
}

// rgba makes a colour of brightness, yellow against blue, red against green, and alpha.
function rgba([l, p, q, a]) {
  const blue = l - 2 / 3 * p;
  const red = (3 * l - blue + q) / 2;
  return [red, red - q, blue, a].map((v) => 255 * max(0, min(1, v)));
}

const average = (hash) => rgba(read(hash).channels.map((c) => c.mean));

function draw(hash) {
  const { ratio, channels } = read(hash);
  const canvas = document.createElement('canvas');
  canvas.width = round(ratio > 1 ? 32 : 32 * ratio);
  canvas.height = round(ratio > 1 ? 32 / ratio : 32);
  const [w, h] = [canvas.width, canvas.height];
  const context = canvas.getContext('2d');
  const pixels = context.createImageData(w, h);
  for (let y = 0; y < h; y += 1) {
    for (let x = 0; x < w; x += 1) {
      const at = ({ mean, waves }) => waves.reduce((sum, [cx, cy, v]) => sum + v * cos(PI / w * (x + 0.5) * cx) * cos(PI / h * (y + 0.5) * cy), mean);
      pixels.data.set(rgba(channels.map(at)), 4 * (y * w + x));
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}

const missing = (frame) => !frame.querySelector('img')?.naturalWidth;
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    setTimeout(() => {
      if (missing(target)) target.style.background = `center / 100% 100% url(${draw(target.dataset.hash)})`;
    }, patience);
  }
});

function clear(frame) {
  seen.unobserve(frame);
  frame.style.background = '';
}

function begin() {
  for (const frame of document.querySelectorAll('[data-hash]')) {
    if (!missing(frame)) clear(frame);
    else if (!frame.style.background) {
      // Halfway to the neutral: a mere average looks garish.
      frame.style.background = `color-mix(in srgb, rgb(${average(frame.dataset.hash).slice(0, 3).map(round)}) 50%, var(--sunken))`;
      seen.observe(frame);
    }
  }
}

document.addEventListener('load', (e) => {
  const frame = e.target instanceof HTMLImageElement && e.target.closest('[data-hash]');
  if (frame) clear(frame);
}, true);
document.addEventListener('changed', begin);
begin();
