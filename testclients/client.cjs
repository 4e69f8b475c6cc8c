// Uses OpenAI's own npm package against an Afterimage, as a program would that knows nothing of it: only the base URL
// and the key are other ones (OPENAI_BASE_URL, OPENAI_API_KEY). It prints a line for each thing that works and ends
// with 1 at the first that does not. main.go does the same with the Go library.
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const OpenAI = require('openai');

const client = new OpenAI();
const name = 'npm';
const prompt = (words) => `${name}: ${words}`;
const isPNG = (bytes) => Buffer.from(bytes).subarray(0, 4).toString('latin1') === '\x89PNG';
const decode = (b64) => Buffer.from(b64, 'base64');
const file = (path) => fs.createReadStream(path);

const steps = {
  async 'list models'() {
    const ids = [];
    for await (const m of client.models.list()) ids.push(m.id);
    assert(ids.includes('openai/gpt-image-1') && ids.includes('demo/demo'), ids.join());
    assert.equal((await client.models.retrieve('openai/dall-e-3')).owned_by, 'openai');
  },

  async 'generate a url'() {
    const got = await client.images.generate({ prompt: prompt('url'), model: 'dall-e-3', response_format: 'url', size: '1024x1024' });
    const picture = await fetch(got.data[0].url);
    assert.equal(picture.status, 200);
    assert(isPNG(await picture.arrayBuffer()));
    assert(got.data[0].revised_prompt && !got.data[0].b64_json);
  },

  async 'generate b64_json'() {
    for (const p of [
      { prompt: prompt('bytes'), model: 'gpt-image-1' },
      { prompt: prompt('bytes of a link'), model: 'dall-e-2', response_format: 'b64_json' },
    ]) {
      const got = await client.images.generate(p);
      assert(isPNG(decode(got.data[0].b64_json)) && !got.data[0].url);
      assert.equal(got.output_format, 'png');
    }
  },

  async 'generate n=3'() {
    const got = await client.images.generate({ prompt: prompt('three'), model: 'openai/gpt-image-1', n: 3 });
    for (const d of got.data) assert(d.afterimage.sha256 && d.afterimage.status && isPNG(decode(d.b64_json)));
    assert.equal(new Set(got.data.map((d) => d.afterimage.id)).size, 3);
  },

  async 'stream with partial images'() {
    const seen = [];
    const events = await client.images.generate({ prompt: prompt('stream'), model: 'gpt-image-1', stream: true, partial_images: 2 });
    for await (const e of events) {
      assert(isPNG(decode(e.b64_json)));
      seen.push(`${e.type} ${e.partial_image_index ?? '-'}`);
    }
    assert.deepEqual(seen, ['image_generation.partial_image 0', 'image_generation.partial_image 1', 'image_generation.completed -']);
  },

  async 'edit with a mask'() {
    const got = await client.images.edit({
      prompt: prompt('edit'), model: 'gpt-image-1', image: [file('image.png'), file('mask.png')], mask: file('mask.png'),
    });
    assert(isPNG(decode(got.data[0].b64_json)));
  },

  async 'an error of each class'() {
    const ask = (p, options) => client.images.generate({ model: 'gpt-image-1', ...p }, options);
    const as = (apiKey) => client.withOptions({ apiKey }).images.generate({ model: 'gpt-image-1', prompt: prompt('conflict') });
    const key = { headers: { 'Idempotency-Key': `${name}-key` } };
    await ask({ prompt: prompt('conflict') }, key);
    for (const [call, kind, status, code] of [
      [() => as('afi_wrong'), OpenAI.AuthenticationError, 401, 'invalid_api_key'],
      [() => as(process.env.READER_API_KEY), OpenAI.PermissionDeniedError, 403, 'scope_missing'],
      [() => ask({ prompt: prompt('size'), size: '256x256' }), OpenAI.BadRequestError, 400, 'invalid_value'],
      [() => ask({ prompt: prompt('model'), model: 'dall-e-9' }), OpenAI.NotFoundError, 404, 'model_not_found'],
      [() => ask({ prompt: prompt('other') }, key), OpenAI.ConflictError, 409, 'idempotency_key_reused'],
      [() => ask({ prompt: prompt('refuse') }), OpenAI.BadRequestError, 400, 'moderation_blocked'],
      [() => ask({ prompt: prompt('quota') }), OpenAI.RateLimitError, 429, 'insufficient_quota'],
      [() => ask({ prompt: prompt('cut') }), OpenAI.InternalServerError, 502, 'unknown_outcome'],
    ]) {
      const e = await call().then(() => assert.fail(`no error ${code}`), (e) => e);
      assert(e instanceof kind, String(e));
      assert.deepEqual([e.status, e.code], [status, code]);
      assert(e.requestID && e.type && e.message, `${code} has no request id`);
    }
  },

  async 'time-outs with its own retries'() {
    const got = await client.images.generate({ prompt: prompt('slow'), model: 'gpt-image-1' }, { timeout: 700, maxRetries: 9 });
    assert(isPNG(decode(got.data[0].b64_json)));
  },
};

(async () => {
  for (const [title, step] of Object.entries(steps)) {
    try {
      await step();
    } catch (e) {
      console.log(`FAIL ${title}: ${e.stack}`);
      process.exit(1);
    }
    console.log(`ok ${title}`);
  }
})();
