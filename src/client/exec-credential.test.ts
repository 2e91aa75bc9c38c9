import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { NEVER_ABORTED } from '../util/never-aborted.js';
import { createCertificate, generateKey, keyPem } from '../pki/certificates.js';
import { clusterInfo, ExecCredentialSource, readExecConfig, readExecCredential } from './exec-credential.js';

const V1 = 'client.authentication.k8s.io/v1';
const V1BETA1 = 'client.authentication.k8s.io/v1beta1';
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'exec-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** Writes a plugin that counts its runs, records its input, and prints `status`. */
function plugin(status: string, apiVersion = V1): void {
  const path = join(directory, 'plugin');
  const printed = `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":${status}}`;
  writeFileSync(
    path,
    `#!/bin/sh\necho run >> ${directory}/runs\nprintf '%s' "$KUBERNETES_EXEC_INFO" > ${directory}/info\nprintf '%s' "$EXTRA$1" > ${directory}/extra\nprintf '%s' '${printed}'\n`,
  );
  chmodSync(path, 0o755);
}

const runs = (): number => readFileSync(join(directory, 'runs'), 'utf8').split('\n').length - 1;

function source(entry: object = {}, more: { stdinIsTerminal?: boolean; clock?: FakeClock } = {}): ExecCredentialSource {
  const exec = { command: './plugin', apiVersion: V1, interactiveMode: 'Never', ...entry };
  const cluster = {
    server: 'https://s',
    extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { a: 1 } }],
  };
  return new ExecCredentialSource({
    config: readExecConfig(exec, 'u', directory),
    cluster: clusterInfo(cluster, 'PEM'),
    clock: more.clock ?? new FakeClock(),
    stdinIsTerminal: more.stdinIsTerminal ?? false,
    environment: process.env,
  });
}

test('runs once for a token, with arguments and environment, and without cluster info by default', async () => {
  plugin('{"token":"t"}');
  const credentials = source({ args: ['y'], env: [{ name: 'EXTRA', value: 'x' }] });
  const answers = await Promise.all([credentials.credentials(NEVER_ABORTED), credentials.credentials(NEVER_ABORTED)]);
  expect(answers).toEqual([{ token: 't' }, { token: 't' }]);
  expect(await credentials.credentials(NEVER_ABORTED)).toEqual({ token: 't' });
  expect(runs()).toBe(1);
  expect(readFileSync(join(directory, 'extra'), 'utf8')).toBe('xy');
  expect(JSON.parse(readFileSync(join(directory, 'info'), 'utf8'))).toEqual({
    kind: 'ExecCredential',
    apiVersion: V1,
    spec: { interactive: false },
  });
});

test('provideClusterInfo passes the cluster to the plugin', async () => {
  plugin('{"token":"t"}');
  await source({ provideClusterInfo: true }).credentials(NEVER_ABORTED);
  expect(JSON.parse(readFileSync(join(directory, 'info'), 'utf8'))).toMatchObject({
    spec: {
      cluster: {
        server: 'https://s',
        'certificate-authority-data': Buffer.from('PEM').toString('base64'),
        config: { a: 1 },
      },
    },
  });
});

test('a token is cached until it expires', async () => {
  plugin('{"token":"t","expirationTimestamp":"2026-01-01T00:01:00Z"}');
  const clock = new FakeClock();
  const credentials = source({}, { clock });
  await credentials.credentials(NEVER_ABORTED);
  clock.advance(60_000);
  await credentials.credentials(NEVER_ABORTED);
  expect(runs()).toBe(1);
  clock.advance(1);
  await credentials.credentials(NEVER_ABORTED);
  expect(runs()).toBe(2);
});

test('the plugin runs again after a 401', async () => {
  plugin('{"token":"t"}');
  const credentials = source();
  await credentials.credentials(NEVER_ABORTED);
  credentials.rejected();
  await credentials.credentials(NEVER_ABORTED);
  expect(runs()).toBe(2);
});

const modes: readonly (readonly [string, boolean, boolean | string])[] = [
  ['Never', true, false],
  ['IfAvailable', false, false],
  ['Always', false, 'standard input is not a terminal'],
];
test.each(modes)('interactiveMode %s, terminal: %s', async (interactiveMode, stdinIsTerminal, expected) => {
  plugin('{"token":"t"}');
  const answer = source({ interactiveMode }, { stdinIsTerminal }).credentials(NEVER_ABORTED);
  if (typeof expected === 'string') {
    await expect(answer).rejects.toThrow(expected);
    return;
  }
  await answer;
  expect(JSON.parse(readFileSync(join(directory, 'info'), 'utf8'))).toMatchObject({ spec: { interactive: expected } });
});

test.each([
  ['is missing', { command: './nothing', installHint: 'get it' }, 'not found\n\nget it'],
  ['fails', { command: 'false' }, 'exec: executable false failed with exit code 1'],
  ['does not print JSON', { command: 'echo', args: ['x'] }, 'decoding stdout: not JSON'],
])('a plugin that %s', async (_name, entry, message) => {
  await expect(source(entry).credentials(NEVER_ABORTED)).rejects.toThrow(message);
});

const entries: readonly (readonly [string, object, string])[] = [
  ['command', { apiVersion: V1, interactiveMode: 'Never' }, 'command must be specified for u'],
  ['apiVersion', { command: 'x', interactiveMode: 'Never' }, 'apiVersion must be specified for u'],
  ['another version', { command: 'x', apiVersion: 'v1', interactiveMode: 'Never' }, 'invalid apiVersion "v1"'],
  ['interactiveMode in v1', { command: 'x', apiVersion: V1 }, 'interactiveMode must be specified for u'],
  [
    'another mode',
    { command: 'x', apiVersion: V1, interactiveMode: 'Maybe' },
    'invalid interactiveMode for u: "Maybe"',
  ],
  [
    'name of a variable',
    { command: 'x', apiVersion: V1, interactiveMode: 'Never', env: [{ value: 'x' }] },
    'env variable name must be specified',
  ],
];
test.each(entries)('refused without %s', (_name, entry, message) => {
  expect(() => readExecConfig({ ...entry }, 'u', '/d')).toThrow(message);
});

test.each([
  ['plugin', 'plugin'],
  ['./plugin', '/d/plugin'],
  ['../bin/plugin', '/bin/plugin'],
  ['/usr/plugin', '/usr/plugin'],
])('command %s is resolved to %s', (command, expected) => {
  const config = readExecConfig({ command, apiVersion: V1BETA1 }, 'u', '/d');
  expect(config).toMatchObject({ command: expected, interactiveMode: 'IfAvailable' });
});

describe('output', () => {
  const { privateKey, publicKey } = generateKey();
  const request = { subject: { commonName: 'x' }, publicKey, usage: 'client' as const, notBefore: 0, notAfter: 1e12 };
  const certificate = createCertificate(request, { key: privateKey });
  const output = (status: unknown, apiVersion = V1): string =>
    JSON.stringify({ kind: 'ExecCredential', apiVersion, status });

  test('may be a certificate with its key', () => {
    const key = keyPem(privateKey);
    const text = output({ clientCertificateData: certificate, clientKeyData: key });
    expect(readExecCredential(text, V1)).toEqual({ certificate, key });
  });

  test.each([
    ['no status', output(undefined), "exec plugin didn't return a status field"],
    ['nothing', output({}), "exec plugin didn't return a token or cert/key pair"],
    ['half a pair', output({ clientKeyData: 'x' }), 'exec plugin returned only certificate or key, not both'],
    [
      'no certificate',
      output({ clientCertificateData: 'x', clientKeyData: 'x' }),
      'failed parsing client key/certificate',
    ],
    ['another version', output({ token: 't' }, V1BETA1), `plugin returned version ${V1BETA1}`],
    ['an invalid time', output({ token: 't', expirationTimestamp: 'x' }), 'expirationTimestamp is not a time'],
    ['another kind', '{"kind":"Pod"}', 'not an ExecCredential'],
    ['null', 'null', 'not an ExecCredential'],
  ])('%s', (_name, text, message) => {
    expect(() => readExecCredential(text, V1)).toThrow(message);
  });
});
