import { randomBytes } from 'node:crypto';
import { Cbc, Gcm, Secretbox, SeededGcm } from './ciphers.js';
import { identity, PrefixTransformers, type Transformer } from './transformer.js';

const context = Buffer.from('secrets\0default/a');
const text = Buffer.from('{"apiVersion":"v1"}');

/** NaCl's own test vector (tests/secretbox.c). */
test('secretbox matches NaCl', () => {
  const hex = (s: string): Buffer => Buffer.from(s, 'hex');
  const key = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389');
  const nonce = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37');
  const message = hex(
    'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705',
  );
  const box = hex(
    'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
  );
  const { data } = new Secretbox(key).fromStorage(Buffer.concat([nonce, box]));
  expect(Buffer.from(data).equals(message)).toBe(true);
});

describe.each([
  ['aescbc', () => new Cbc(randomBytes(32)), 'padding|PKCS7'],
  ['aescbc of 128 bits', () => new Cbc(randomBytes(16)), 'padding|PKCS7'],
  ['aesgcm', () => new Gcm(randomBytes(32)), 'authentication failed'],
  ['aesgcm of 192 bits', () => new Gcm(randomBytes(24)), 'authentication failed'],
  ['seeded gcm', () => new SeededGcm(randomBytes(32)), 'authentication failed'],
  ['secretbox', () => new Secretbox(randomBytes(32)), 'not large enough'],
] as [string, () => Transformer, string][])('%s', (name, make, refusal) => {
  test.each([0, 1, 15, 16, 17, 63, 64, 65, 4096, 100_001])('%d bytes round-trip', async (length) => {
    const transformer = make();
    const data = randomBytes(length);
    const stored = await transformer.toStorage(data, context);
    expect(length < 15 || !Buffer.from(stored).includes(data)).toBe(true);
    const back = await transformer.fromStorage(stored, context);
    expect(Buffer.from(back.data).equals(data)).toBe(true);
    expect(back.stale).toBe(false);
    expect(Buffer.from(await transformer.toStorage(data, context)).equals(stored)).toBe(false);
  });

  test('refuses another key and truncated bytes', async () => {
    const stored = await make().toStorage(text, context);
    // CBC does not authenticate: one wrong key in 256 yields valid padding.
    const tries = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(async () => make().fromStorage(stored, context)));
    const refused = tries.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(name.startsWith('aescbc') ? 3 : 6);
    for (const one of refused) expect(String((one as PromiseRejectedResult).reason)).toMatch(new RegExp(refusal));
    await expect(async () => make().fromStorage(stored.subarray(0, 5), context)).rejects.toThrow(
      'the stored data was shorter than the required size',
    );
  });
});

test('authenticated bytes cannot be read as another object', () => {
  const transformer = new Gcm(randomBytes(32));
  const stored = transformer.toStorage(text, context);
  expect(() => transformer.fromStorage(stored, Buffer.from('secrets\0default/b'))).toThrow('authentication');
});

test('the first provider writes, all read, and data of the other providers is stale', async () => {
  const [one, two] = [new Gcm(randomBytes(32)), new Gcm(randomBytes(32))];
  const none = { prefix: '', transformer: identity };
  const [first, second] = [
    { prefix: 'k8s:enc:aesgcm:v1:one:', transformer: one },
    { prefix: 'k8s:enc:aesgcm:v1:two:', transformer: two },
  ];
  const old = new PrefixTransformers([second, none], 'no matching prefix found');
  const now = new PrefixTransformers([first, second, none], 'no matching prefix found');
  const stored = await old.toStorage(text, context);
  expect(Buffer.from(stored).toString('latin1')).toMatch(/^k8s:enc:aesgcm:v1:two:/);
  expect((await old.fromStorage(stored, context)).stale).toBe(false);
  expect((await now.fromStorage(stored, context)).stale).toBe(true);
  expect((await now.fromStorage(text, context)).stale).toBe(true);
  const last = new PrefixTransformers([none, first], 'no matching prefix found');
  await expect(last.fromStorage(stored, context)).rejects.toThrow('no matching prefix found');
  expect(await last.fromStorage(await now.toStorage(text, context), context)).toMatchObject({ stale: true });
  await expect(new PrefixTransformers([first], 'no matching prefix found').fromStorage(text, context)).rejects.toThrow(
    'no matching prefix found',
  );
});
