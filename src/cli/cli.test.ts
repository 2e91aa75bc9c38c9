import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { createCertificate, generateKey, keyPem } from '../pki/certificates.js';
import type { Clock } from '../util/clock.js';
import { makeKubeconfig, type KubeconfigOptions } from './kubeconfig.js';
import { execCredential, readExecInfo, type TokenOptions } from './token.js';

const V1 = 'client.authentication.k8s.io/v1';
const NOW = Date.UTC(2026, 0, 1);
const idToken = (subject: string, expires: number): string =>
  `e30.${Buffer.from(JSON.stringify({ sub: subject, exp: expires / 1000 })).toString('base64url')}.sig`;

let directory: string;
let server: Server;
let issuer: string;
let forms: URLSearchParams[];
let answers: [number, object][];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cli-'));
  forms = [];
  answers = [];
  const { privateKey, publicKey } = generateKey();
  const validity = { notBefore: Date.now() - 1e6, notAfter: Date.now() + 1e8 };
  const ca = createCertificate(
    { subject: { commonName: 'ca' }, publicKey, usage: 'ca', ...validity },
    { key: privateKey },
  );
  writeFileSync(join(directory, 'ca.crt'), ca);
  const { X509Certificate } = await import('node:crypto');
  const request = {
    subject: { commonName: 's' },
    publicKey,
    usage: 'server' as const,
    altNames: ['127.0.0.1'],
    ...validity,
  };
  const cert = createCertificate(request, { key: privateKey, certificate: new X509Certificate(ca) });
  server = createServer({ key: keyPem(privateKey), cert }, (message, response) => void respond(message, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true });
});

async function respond(message: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  const answer = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  switch (message.url) {
    case '/.well-known/openid-configuration':
      answer(200, { issuer, token_endpoint: `${issuer}/token`, device_authorization_endpoint: `${issuer}/device` });
      return;
    case '/device':
      answer(200, {
        device_code: 'dc',
        user_code: 'UC',
        verification_uri: `${issuer}/go`,
        expires_in: 100,
        interval: 5,
      });
      return;
    default:
      forms.push(new URLSearchParams(Buffer.concat(chunks).toString()));
      answer(...(answers.shift() ?? [500, {}]));
  }
}

/** A clock whose timers fire immediately, and advance it by their delay. */
function hastyClock(now: number): Clock {
  let passed = 0;
  return {
    now: () => now + passed,
    monotonic: () => passed,
    setTimer: (millis, callback) => {
      const timer = setImmediate(() => {
        passed += millis;
        callback();
      });
      return {
        cancel: () => {
          clearImmediate(timer);
        },
      };
    },
  };
}

async function run(execInfo?: object, now = NOW): Promise<{ credential: unknown; prompts: string[] }> {
  const prompts: string[] = [];
  const options: TokenOptions = {
    oidcIssuerUrl: issuer,
    oidcClientId: 'annex',
    oidcScope: ['openid'],
    oidcCaFile: join(directory, 'ca.crt'),
    cacheDir: join(directory, 'cache'),
  };
  const printed = await execCredential(options, {
    execInfo: execInfo === undefined ? undefined : JSON.stringify(execInfo),
    clock: hastyClock(now),
    prompt: (text) => prompts.push(text),
  });
  return { credential: JSON.parse(printed), prompts };
}

const info = (interactive: boolean, apiVersion = V1): object => ({
  kind: 'ExecCredential',
  apiVersion,
  spec: { interactive },
});

test('one log-in yields a token that is cached and refreshed, and a failed refresh requires a new log-in', async () => {
  const first = idToken('first', NOW + 600_000);
  answers = [
    [400, { error: 'authorization_pending' }],
    [400, { error: 'slow_down' }],
    [200, { id_token: first, refresh_token: 'r1' }],
  ];
  const { credential, prompts } = await run();
  expect(prompts).toEqual([`Open ${issuer}/go and enter the code UC.`]);
  expect(credential).toEqual({
    kind: 'ExecCredential',
    apiVersion: V1,
    spec: { interactive: true },
    status: { token: first, expirationTimestamp: '2026-01-01T00:10:00Z' },
  });
  expect(forms.map((form) => form.get('device_code'))).toEqual(['dc', 'dc', 'dc']);
  // No interaction is needed from here on.
  expect((await run(info(false, `${V1}beta1`))).credential).toMatchObject({
    apiVersion: `${V1}beta1`,
    status: { token: first },
  });
  expect(forms).toHaveLength(3);
  const second = idToken('second', NOW + 1_200_000);
  answers = [[200, { id_token: second }]];
  expect((await run(info(false), NOW + 590_000)).credential).toMatchObject({ status: { token: second } });
  expect(forms.at(-1)?.get('refresh_token')).toBe('r1');
  answers = [[400, { error: 'invalid_grant' }]];
  await expect(run(info(false), NOW + 1_300_000)).rejects.toThrow('not logged in');
});

test.each([
  ['refused', [400, { error: 'access_denied', error_description: 'not you' }], 'log-in failed: not you'],
  ['without ID token', [200, { access_token: 'x' }], 'the provider returned no ID token'],
] as const)('%s', async (_name, answer, message) => {
  answers = [[...answer]];
  await expect(run()).rejects.toThrow(message);
});

test('fails if the code is not confirmed in time', async () => {
  answers = Array.from({ length: 50 }, () => [400, { error: 'authorization_pending' }]);
  await expect(run()).rejects.toThrow('the code was not confirmed in time');
});

test.each(['{', '{}', '{"kind":"ExecCredential","apiVersion":"v1"}', 'null'])(
  'KUBERNETES_EXEC_INFO must be valid: %s',
  (text) => {
    expect(() => readExecInfo(text)).toThrow('KUBERNETES_EXEC_INFO');
  },
);

describe('kubeconfig', () => {
  const base: KubeconfigOptions = { server: 'https://s:6443', user: 'jane', execInteractiveMode: 'IfAvailable' };
  const read = (path: string): Buffer => Buffer.from(`content of ${path}`);
  const encoded = (path: string): string => read(path).toString('base64');
  const exec = {
    apiVersion: V1,
    command: 'annex',
    args: ['token', '--oidc-client-id=x'],
    env: [{ name: 'A', value: 'b=c' }],
    interactiveMode: 'IfAvailable',
    provideClusterInfo: false,
  };
  const cases: readonly (readonly [string, Partial<KubeconfigOptions>, object])[] = [
    ['token', { token: 't' }, { token: 't' }],
    [
      'certificate',
      { clientCertificate: 'c', clientKey: 'k' },
      { 'client-certificate-data': encoded('c'), 'client-key-data': encoded('k') },
    ],
    ['plugin', { execCommand: 'annex', execArg: exec.args, execEnv: ['A=b=c'] }, { exec }],
  ];
  test.each(cases)('%s', (_name, more, user) => {
    const text = makeKubeconfig({ ...base, certificateAuthority: 'ca', namespace: 'ns', ...more }, read);
    expect(parse(text)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'annex',
      clusters: [{ name: 'annex', cluster: { server: base.server, 'certificate-authority-data': encoded('ca') } }],
      contexts: [{ name: 'annex', context: { cluster: 'annex', user: 'jane', namespace: 'ns' } }],
      users: [{ name: 'jane', user }],
    });
  });

  test.each([
    ['nobody', {}, 'specify one of'],
    ['two ways', { token: 't', execCommand: 'x' }, 'specify one of'],
    ['half a pair', { clientKey: 'k' }, 'must be given together'],
    ['http', { token: 't', server: 'http://s' }, 'is not an https address'],
    ['a variable without a value', { execCommand: 'x', execEnv: ['A'] }, 'is not name=value'],
    ['a mode', { execCommand: 'x', execInteractiveMode: 'maybe' }, 'must be one of'],
  ])('refused: %s', (_name, more, message) => {
    expect(() => makeKubeconfig({ ...base, ...more }, read)).toThrow(message);
  });
});
