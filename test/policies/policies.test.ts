import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts, Started, writeKeys } from '../convert/control-plane.js';
import { digList, digText } from '../integration/client.js';
import { ADMIN, ROOT, scratchFolder, START_MILLIS, TestServer } from '../integration/server.js';
import { Asked, forEach } from './ask.js';
import { batchesOf, DENY, install, labelOf, uninstall, WARN } from './install.js';
import { type Manifest, type Published, readPublished } from './published.js';
import { type Found, readRecorded, type Recorded, writeRecorded } from './recorded.js';

/** RECORD_POLICIES records the responses of kube-apiserver. */
const RECORDS = process.env['RECORD_POLICIES'] !== undefined;

let stop: (() => Promise<unknown>) | undefined;
const folder = scratchFolder(async () => stop?.());

async function start(): Promise<Asked> {
  if (!RECORDS) {
    const server = await TestServer.start(folder, ['--controllers=']);
    stop = () => server.stop('SIGKILL');
    return new Asked(server, ADMIN);
  }
  writeKeys(folder);
  const server = await Started.begin(join(ROOT, '.cache/tools'), folder, await freePorts(3));
  stop = () => server.stop();
  const ca = readFileSync(join(folder, 'server.crt'), 'utf8');
  return new Asked({ url: `https://127.0.0.1:${String(server.port)}`, ca }, 'convert');
}

let server: Asked;
beforeAll(async () => {
  server = await start();
}, START_MILLIS + 5_000);

describe.each(['kubernetes-docs', 'kubescape', 'kyverno', 'gateway-api'])('%s', (project) => {
  const published = readPublished(project);
  const found: Found = { refusals: [], denials: [], warned: [] };
  const recorded = RECORDS ? undefined : readRecorded(project);

  beforeAll(async () => {
    found.refusals = await install(server, published);
  });
  afterAll(async () => {
    if (RECORDS) writeRecorded(project, found);
    await uninstall(server);
  });

  test('policies are accepted, or refused with the same code and message', () => {
    if (recorded !== undefined) expect(found.refusals).toEqual(recorded.refusals);
  });

  test('samples are refused with the same code and message', async () => {
    const answers = await forEach(published.samples, ({ policy, object }) =>
      server.rehearse(object, { [DENY]: labelOf(policy) }),
    );
    found.denials = answers.flatMap(({ code, message }, i) => (code === 201 ? [] : [[i, code, message] as const]));
    expect(found.denials.length).toBeGreaterThan(0);
    if (recorded !== undefined) expect(named(published, found.denials)).toEqual(named(published, recorded.denials));
  });

  test('objects get the same warnings', async () => {
    found.warned = await forEach(published.objects, (object) => warningsOf(object, published));
    expect(found.warned.flat().length).toBeGreaterThan(0);
    if (recorded === undefined) return;
    const expected = recorded.warned.map((indexes) => indexes.map((i) => recorded.warnings[i]).sort());
    expect(found.warned.map((texts, i) => [published.objects[i]?.metadata.name, texts])).toEqual(
      expected.map((texts, i) => [published.objects[i]?.metadata.name, texts]),
    );
  });

  test('cuts a total of too many warnings as kube-apiserver does', async () => {
    const answers = await forEach(published.objects, (object) => server.rehearse(object, { [WARN]: 'all' }));
    answers.forEach(({ warnings }, i) => {
      expectCut(warnings, found.warned[i] ?? []);
    });
  });
});

test('discovery has the storage version hashes of kube-apiserver', async () => {
  const { tree } = await server.send('GET', '/apis/admissionregistration.k8s.io/v1');
  const hashes = digList(tree, 'resources').map((entry) => [
    digText(entry, 'name'),
    digText(entry, 'storageVersionHash'),
  ]);
  expect(Object.fromEntries(hashes)).toEqual({
    mutatingadmissionpolicies: 'mHCkTKpUTrE=',
    mutatingadmissionpolicybindings: 'ZKgZT1uTmZ0=',
    mutatingwebhookconfigurations: 'Sqi0GUgDaX0=',
    validatingadmissionpolicies: '6OxvlMmQ6is=',
    'validatingadmissionpolicies/status': '',
    validatingadmissionpolicybindings: 'v9715VZqakg=',
    validatingwebhookconfigurations: 'B0wHjQmsGNk=',
  });
});

/** Returns the warnings of all policies, a few policies at a time, so that none is cut. */
async function warningsOf(object: Manifest, published: Published): Promise<string[]> {
  const texts = new Set<string>();
  for (const batch of batchesOf(published)) {
    const { warnings } = await server.rehearse(object, { [WARN]: batch });
    for (const text of warnings) texts.add(text);
  }
  return [...texts].sort();
}

const TOTAL_RUNES = 4096;
const ITEM_RUNES = 256;
const runes = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Array.from(text).length, 0);

/**
 * kube-apiserver warns in the order of a Go map, so the omitted warnings differ from run to run. In each run, all warnings are whole if
 * they fit; otherwise each is cut, and they continue until the limit is reached.
 */
function expectCut(warnings: readonly string[], whole: readonly string[]): void {
  const sorted = [...warnings].sort();
  if (runes(whole) <= TOTAL_RUNES) {
    expect(sorted).toEqual(whole);
    return;
  }
  const cuts = whole.map((text) => Array.from(text).slice(0, ITEM_RUNES).join('')).sort();
  const missing = [...cuts];
  for (const text of sorted) {
    const at = missing.indexOf(text);
    expect(at < 0 ? `unexpected: ${text}` : text).toBe(text);
    missing.splice(at, 1);
  }
  if (missing.length === 0) return;
  expect(runes(warnings)).toBeGreaterThanOrEqual(TOTAL_RUNES);
  expect(runes(warnings.slice(0, -1))).toBeLessThanOrEqual(TOTAL_RUNES);
}

const named = ({ samples }: Published, denials: Recorded['denials']): unknown[] =>
  denials.map(([i, code, message]) => [samples[i]?.policy, samples[i]?.name, code, message]);
