import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { plant } from '../secrecy/leaks.js';
import { digText, Http1, treeOf } from './client.js';
import { run, scratchFolder, TestServer } from './server.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const SECRETS = '/api/v1/namespaces/default/secrets';
const word = plant(`planted-${randomBytes(6).toString('hex')}`);

let server: TestServer | undefined;
const folder = scratchFolder(() => server?.stop('SIGKILL') ?? Promise.resolve());
const config = join(folder, 'encryption.json');
const file = join(folder, 'annex.backup');
const flags = ['--encryption-provider-config', config];

/** All payloads of a backup, uncompressed (src/storage/backup/format.ts). */
function payloadsOf(path: string): Buffer {
  const bytes = readFileSync(path);
  const payloads: Buffer[] = [];
  for (let at = bytes.indexOf('\n') + 1; bytes[at] === 1;) {
    const end = at + 37 + bytes.readUInt32LE(at + 1);
    payloads.push(inflateRawSync(bytes.subarray(at + 37, end)));
    at = end;
  }
  return Buffer.concat(payloads);
}

test('a server on a restored store has the same objects, keeps Secrets encrypted, and answers 410 to the revisions of before', async () => {
  const secret = plant(randomBytes(32).toString('base64'));
  const providers = [{ aescbc: { keys: [{ name: 'one', secret }] } }, { identity: {} }];
  const resources = [{ resources: ['secrets'], providers }];
  writeFileSync(
    config,
    JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources }),
  );
  const before = join(folder, 'before');
  mkdirSync(before);
  server = await TestServer.start(before, flags);
  const http = new Http1(server);
  for (const name of ['a', 'b', 'c']) await http.post(MAPS, { metadata: { name }, data: { clear: `clear-${name}` } });
  await http.post(SECRETS, { metadata: { name: 'hidden' }, stringData: { word } });
  const [maps, hidden] = [(await http.get(MAPS)).text, (await http.get(`${SECRETS}/hidden`)).text];
  const token = digText(treeOf(await http.get(`${MAPS}?limit=1`)), 'metadata', 'continue');
  const revision = digText(treeOf(await http.get(`${MAPS}?limit=1`)), 'metadata', 'resourceVersion');

  const backup = await run(['backup', '--data-dir', server.dataDir, '--output', file]);
  expect([backup.code, backup.stdout, backup.stderr]).toEqual([
    0,
    '',
    expect.stringMatching(/^Backed up \d+ objects of /),
  ]);
  await http.post(MAPS, { metadata: { name: 'later' } });
  await server.stop();
  const payloads = payloadsOf(file);
  expect(payloads.includes('clear-a')).toBe(true);
  expect(payloads.includes('k8s:enc:aescbc:v1:one:')).toBe(true);
  for (const text of [word, Buffer.from(word).toString('base64')]) expect(payloads.includes(text)).toBe(false);

  const after = join(folder, 'after');
  mkdirSync(join(after, 'data'), { recursive: true, mode: 0o700 });
  cpSync(join(server.dataDir, 'pki'), join(after, 'data/pki'), { recursive: true });
  const restored = await run(['restore', '--data-dir', join(after, 'data'), '--input', file]);
  expect([restored.code, restored.stderr]).toEqual([0, '']);
  server = await TestServer.start(after, flags);
  const again = new Http1(server);
  const items = (text: string): string => text.slice(text.indexOf('"items"'));
  expect(items((await again.get(MAPS)).text)).toBe(items(maps));
  expect((await again.get(`${SECRETS}/hidden`)).text).toBe(hidden);
  expect((await again.get(`${MAPS}/later`)).status).toBe(404);
  expect((await again.get(`${MAPS}?limit=1&continue=${encodeURIComponent(token)}`)).status).toBe(410);
  expect((await again.get(`${MAPS}?resourceVersion=${revision}&resourceVersionMatch=Exact`)).status).toBe(410);
  // Also what was written after the backup.
  for (const from of [revision, String(Number(revision) + 2)]) {
    const watch = await again.get(`${MAPS}?watch=true&resourceVersion=${from}&timeoutSeconds=5`);
    expect(watch.text).toContain('"code":410');
  }
  expect((await again.post(MAPS, { metadata: { name: 'new' } })).status).toBe(201);
}, 240_000);

test('wrong usage and damaged files are refused in one line', async () => {
  const bytes = readFileSync(file);
  const damaged = join(folder, 'damaged.backup');
  writeFileSync(damaged, bytes.subarray(0, bytes.length - 1));
  const into = join(folder, 'nowhere');
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['backup', '--data-dir', into], '--output must name a file'],
    [['backup', '--data-dir', into, '--output', '-'], 'has no store of Annex'],
    [['restore', '--data-dir', into], '--input must name a file'],
    [['restore', '--data-dir', into, '--input', damaged], 'cannot be restored: it is damaged: its end is missing'],
    [['restore', '--data-dir', into, '--input', config], 'cannot be restored: it is not a backup of Annex'],
    [['restore', '--data-dir', into, '--input', folder], 'is not a file'],
    [['restore', '--data-dir', join(folder, 'after/data'), '--input', file], 'in use by another process'],
    [
      ['backup', '--data-dir', join(folder, 'before/data'), '--output', '-', '--types', 'nothing'],
      'no objects of nothing',
    ],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout, stderr.trimEnd().split('\n')]).toEqual([1, '', [expect.stringContaining(message)]]);
  }
}, 120_000);

test('a directory keeps the newest backups', async () => {
  const directory = join(folder, 'backups');
  mkdirSync(directory);
  const stale = join(directory, 'annex-20200101T000000Z-7.backup');
  writeFileSync(stale, '');
  writeFileSync(join(directory, 'annex-20200102T000000Z-8.backup.partial'), '');
  writeFileSync(join(directory, 'mine.txt'), '');
  const { code } = await run([
    'backup',
    '--data-dir',
    join(folder, 'before/data'),
    '--output',
    directory,
    '--keep',
    '1',
  ]);
  expect([code, readdirSync(directory).sort()]).toEqual([
    0,
    [expect.stringMatching(/^annex-\d{8}T\d{6}Z-\d+\.backup$/), 'mine.txt'],
  ]);
});
