import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findKubectl } from '../../conformance/kubectl.js';
import { dig, Http1, treeOf } from '../client.js';
import { eventually, type Exit, MAIN, run, scratchFolder, TestServer } from '../server.js';
import { TestCa } from './certificates.js';
import { OpenIdProvider, Person, signingKey } from './openid.js';

const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
const PEOPLE = {
  jane: { email: 'jane@example.com', email_verified: true, groups: ['devs', 'ops'] },
  joe: { email: 'joe@example.com', email_verified: true, groups: [] },
  mallory: { email: 'jane@example.com', email_verified: false, groups: ['system:masters'] },
};

describe('login with a real OpenID provider', () => {
  const ca = new TestCa();
  const rsa = signingKey('rsa-1', 'RS256');
  let provider: OpenIdProvider | undefined;
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => {
    provider?.stop();
    await server?.stop('SIGKILL');
  });
  const caFile = join(folder, 'provider-ca.crt');
  const cacheOf = (name: string): string => join(folder, `cache-${name}`);

  beforeAll(async () => {
    writeFileSync(caFile, ca.pem);
    provider = await OpenIdProvider.start(ca, [rsa, signingKey('ec-1', 'ES256')], PEOPLE);
    server = await TestServer.start(folder, [
      ...['--oidc-issuer-url', provider.issuer, '--oidc-client-id', 'kubectl', '--oidc-ca-file', caFile],
      ...['--oidc-username-claim', 'email', '--oidc-groups-claim', 'groups', '--oidc-groups-prefix', 'oidc:'],
    ]);
  });

  const started = (): { provider: OpenIdProvider; server: TestServer } => {
    if (provider === undefined || server === undefined) throw new Error('not started');
    return { provider, server };
  };
  const tokenArguments = (name: string, clientId = 'kubectl'): string[] => [
    'token',
    ...['--oidc-issuer-url', started().provider.issuer, '--oidc-client-id', clientId],
    ...['--oidc-ca-file', caFile, '--cache-dir', cacheOf(name)],
    ...['--oidc-scope', 'openid', 'offline_access', 'email', 'groups'],
  ];

  /** Runs `annex token` in a terminal, and does what it asks the user for. */
  async function logIn(name: string, clientId?: string): Promise<Exit> {
    const env = { ...process.env };
    delete env['KUBERNETES_EXEC_INFO'];
    const child = spawn(process.execPath, [MAIN, ...tokenArguments(name, clientId)], { stdio: 'pipe', env });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const exit = new Promise<Exit>((resolve) => {
      child.on('close', (code, signal) => {
        resolve({ code, signal, stdout, stderr });
      });
    });
    const address = await eventually('the prompt', () => Promise.resolve(/Open (https:\S+) /.exec(stderr)?.[1]));
    await new Person(name, ca.pem).confirm(address);
    return exit;
  }

  const tokenOf = (exit: Exit): string => {
    if (exit.code !== 0) throw new Error(exit.stderr);
    const credential: unknown = JSON.parse(exit.stdout);
    return (credential as { status: { token: string } }).status.token;
  };
  const whoIs = async (token: string) => {
    const body = Buffer.from(JSON.stringify(REVIEW));
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const answer = await new Http1(started().server).send({ method: 'POST', path, body, token });
    return { status: answer.status, user: dig(treeOf(answer), 'status', 'userInfo') };
  };

  test('device code flow: returns the user and groups', async () => {
    const exit = await logIn('jane');
    const credential: unknown = JSON.parse(exit.stdout);
    expect(credential).toEqual({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: { interactive: true },
      status: { token: expect.any(String) as unknown, expirationTimestamp: expect.stringMatching(/Z$/) as unknown },
    });
    expect(await whoIs(tokenOf(exit))).toEqual({
      status: 201,
      user: { username: 'jane@example.com', groups: ['oidc:devs', 'oidc:ops', 'system:authenticated'] },
    });
  });

  test('the next call uses the cache without a user present, and only the owner may read it', async () => {
    const again = await run(tokenArguments('jane'));
    expect(again).toMatchObject({ code: 0, stderr: '' });
    const [file = ''] = readdirSync(cacheOf('jane'));
    expect(statSync(join(cacheOf('jane'), file)).mode & 0o077).toBe(0);
    expect((await whoIs(tokenOf(again))).status).toBe(201);
  });

  test('an expired token is refreshed without the user', async () => {
    const [name = ''] = readdirSync(cacheOf('jane'));
    const file = join(cacheOf('jane'), name);
    const cached = JSON.parse(readFileSync(file, 'utf8')) as { idToken: string; refreshToken: string; expires: number };
    expect(cached.refreshToken).not.toBe('');
    writeFileSync(file, JSON.stringify({ ...cached, idToken: 'old', expires: 1 }));
    const renewed = tokenOf(await run(tokenArguments('jane')));
    expect(renewed).not.toBe('old');
    expect((await whoIs(renewed)).status).toBe(201);
  });

  test('an unverified email address is rejected', async () => {
    expect((await whoIs(tokenOf(await logIn('mallory')))).status).toBe(401);
  });

  test.each([
    ['for another client', 'somebody-else'],
    ['signed with an algorithm that is not allowed', 'kubectl-ec'],
  ])('a token %s is rejected', async (_name, clientId) => {
    expect((await whoIs(tokenOf(await logIn('joe', clientId)))).status).toBe(401);
  });

  const found = findKubectl();
  (`path` in found ? test : test.skip)('kubectl logs in through the plugin', async () => {
    if (!('path' in found)) return;
    const { server: api } = started();
    const target = join(folder, 'oidc.kubeconfig');
    const caOfServer = join(api.dataDir, 'ca.crt');
    const plugin = tokenArguments('jane').flatMap((argument) => [`--exec-arg=${argument}`]);
    const written = await run([
      ...['kubeconfig', '--server', api.url, '--certificate-authority', caOfServer, '--output', target],
      ...['--exec-command', process.execPath, `--exec-arg=${MAIN}`, ...plugin],
    ]);
    expect(written).toMatchObject({ code: 0, stderr: '' });
    const child = spawn(found.path, ['--kubeconfig', target, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo}'], {
      env: { ...process.env, HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    await new Promise((resolve) => child.on('close', resolve));
    expect(JSON.parse(out)).toMatchObject({
      username: 'jane@example.com',
      groups: expect.arrayContaining(['oidc:ops']) as unknown,
    });
  });

  test('new keys of the provider are accepted, and then the old ones are rejected', async () => {
    const before = tokenOf(await run(tokenArguments('jane')));
    await started().provider.replaceKeys([signingKey('rsa-2', 'RS256'), signingKey('ec-2', 'ES256')]);
    const after = tokenOf(await logIn('joe'));
    await eventually('the new key is known', async () => ((await whoIs(after)).status === 201 ? true : undefined));
    // A verified token is cached for ten seconds.
    await eventually('the old key is forgotten', async () => ((await whoIs(before)).status === 401 ? true : undefined));
  });
});
