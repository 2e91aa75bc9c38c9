import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:net';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Http1 } from './client.js';
import { configMap } from './objects.js';
import { type Exit, MAIN, ROOT, run, scratchFolder, TestServer } from './server.js';

const folder = scratchFolder();
let next = 0;
const fresh = (): string => {
  const path = join(folder, String(next++));
  mkdirSync(path);
  return path;
};

/** Returns the names and contents of all files in a folder. */
function snapshot(path: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [file, readFileSync(file, 'latin1')]),
  );
}

/** Expects one line on stderr, nothing on stdout, and exit code 1. */
function expectRefusal(exit: Exit, text: RegExp): void {
  expect(exit.stderr).toMatch(text);
  expect(exit.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect([exit.code, exit.stdout]).toEqual([1, '']);
}

const serve = (dataDir: string, ...flags: string[]): Promise<Exit> =>
  run(['serve', '--data-dir', dataDir, '--secure-port', '0', '--bind-address', '127.0.0.1', ...flags]);

describe('the command', () => {
  test.each([
    ['an unknown flag', ['serve', '--no-such-flag'], /^annex: unknown option '--no-such-flag'/],
    ['an unknown command', ['sevre'], /^annex: unknown command 'sevre'/],
    ['a superfluous argument', ['serve', 'now'], /^annex: too many arguments/],
    ['a flag without its value', ['serve', '--data-dir'], /^annex: option '--data-dir <string>' argument missing/],
    ['an invalid port', ['serve', '--secure-port', '70000'], /--secure-port: must be between 0 and 65535/],
    ['a port that is not a number', ['serve', '--secure-port', 'x'], /invalid argument "x" for --secure-port/],
    ['an invalid address', ['serve', '--bind-address', 'localhost'], /--bind-address: must be an IP address/],
    [
      'an invalid advertised address',
      ['serve', '--advertise-address', 'example.com'],
      /invalid argument "example.com" for --advertise-address: failed to parse IP: "example.com"/,
    ],
    ['an unknown backend', ['serve', '--storage-backend', 'paper'], /--storage-backend: must be one of/],
    ['an unknown gate', ['serve', '--feature-gates', 'NoSuchGate=true'], /--feature-gates: .*NoSuchGate/],
    [
      'a gate that is neither true nor false',
      ['serve', '--feature-gates', 'WatchList=maybe'],
      /--feature-gates: .*WatchList/,
    ],
    ['an unknown controller', ['serve', '--controllers', 'no-such'], /--controllers: .*no-such/],
    [
      'an unknown authorizer',
      ['serve', '--authorization-mode', 'Anarchy'],
      /authorization-mode "Anarchy" is not a valid mode/,
    ],
    ['an invalid duration', ['serve', '--request-timeout', '5'], /--request-timeout/],
    ['a request timeout of zero', ['serve', '--request-timeout', '0s'], /--request-timeout must be positive/],
    ['too large a chance', ['serve', '--goaway-chance', '0.5'], /--goaway-chance: must be a number between 0 and 0.02/],
    ['a certificate without its key', ['serve', '--tls-cert-file', 'x'], /must be given together/],
    ['an invalid boolean', ['serve', '--anonymous-auth=perhaps'], /--anonymous-auth: must be true or false/],
  ])('%s is an error that names it', async (_name, args, text) => {
    const cwd = fresh();
    expectRefusal(await run(args, cwd), text);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('--help is complete and exits with 0', async () => {
    const exit = await run(['serve', '--help']);
    expect([exit.code, exit.stderr]).toEqual([0, '']);
    for (const name of [
      'data-dir',
      'secure-port',
      'client-ca-file',
      'token-auth-file',
      'feature-gates',
      'controllers',
    ]) {
      expect(exit.stdout).toContain(`--${name} <`);
    }
    expect(exit.stdout).toMatch(/-v, --v <int>/);
    expect(exit.stdout).toMatch(/WatchList=true\|false/);
    const general = await run(['--help']);
    expect([general.code, general.stdout]).toEqual([0, expect.stringContaining('serve')]);
  });

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect((await run(['--version'])).stdout).toBe(`${version}\n`);
  });

  test('`npx annex` works from a built checkout', () => {
    const { status, stdout } = spawnSync('npx', ['--no-install', 'annex', '--version'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect([status, stdout.trim()]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
    expect(statSync(MAIN).mode & 0o111).not.toBe(0);
  });
});

describe('the data directory', () => {
  test('the first start creates certificates and objects, and later starts reuse them', async () => {
    const path = fresh();
    const first = await TestServer.start(path);
    const { ca } = first;
    expect(new X509Certificate(ca).ca).toBe(true);
    const kept = ['pki/apiserver.crt', 'pki/client-ca.crt', 'pki/admin.crt', 'ca.crt'];
    const before = kept.map((name) => readFileSync(join(first.dataDir, name), 'utf8'));
    const base = '/api/v1/namespaces/default/configmaps';
    const made = await new Http1(first).post(base, configMap('kept', { a: 'b' }));
    expect(made.status).toBe(201);
    expect((await first.stop()).code).toBe(0);
    const second = await TestServer.start(path);
    expect(kept.map((name) => readFileSync(join(second.dataDir, name), 'utf8'))).toEqual(before);
    expect((await new Http1(second).get(`${base}/kept`)).text).toBe(made.text);
    expect(readFileSync(second.kubeconfig, 'utf8')).toContain(`server: ${second.url}\n`);
    expect((await second.stop()).code).toBe(0);
  });

  test('secrets are readable by their owner only', async () => {
    const path = fresh();
    const server = await TestServer.start(path);
    const open = Object.keys(snapshot(server.dataDir))
      .filter((file) => /\.(key|kubeconfig)$/.test(file))
      .map((file) => statSync(file).mode & 0o077);
    expect(open.length).toBeGreaterThan(3);
    expect(new Set(open)).toEqual(new Set([0]));
    await server.stop();
  });

  test('a second server refuses to start, and the first continues', async () => {
    const path = fresh();
    const first = await TestServer.start(path);
    expectRefusal(await serve(first.dataDir), /^annex: .*(in use|another|locked).*/);
    expect((await new Http1(first).get('/readyz')).text).toBe('ok');
    await first.stop();
  });

  test("another program's directory is left alone", async () => {
    const path = fresh();
    mkdirSync(join(path, 'store'));
    writeFileSync(join(path, 'store', 'data.mdb'), 'somebody wrote a diary here\n'.repeat(500));
    writeFileSync(join(path, 'notes.txt'), 'keep me');
    const before = snapshot(path);
    expectRefusal(await serve(path), /^annex: .*store/);
    expect(snapshot(path)).toMatchObject(before);
  });

  test('a damaged directory is refused and left unchanged', async () => {
    const path = fresh();
    const server = await TestServer.start(path);
    await server.stop();
    const store = Object.keys(snapshot(join(server.dataDir, 'store'))).find((file) => file.endsWith('.mdb')) ?? '';
    expect(store).not.toBe('');
    const bytes = readFileSync(store);
    bytes.fill(0xa5, 0, 64 * 1024);
    writeFileSync(store, bytes);
    expectRefusal(await serve(server.dataDir), /^annex: .*store/);
    expect(readFileSync(store).equals(bytes)).toBe(true);
  });

  test('a file instead of a directory is refused', async () => {
    const path = join(fresh(), 'file');
    writeFileSync(path, 'x');
    expectRefusal(await serve(path), /--data-dir: cannot create .*not a directory/);
  });

  test('certificates that do not match are refused', async () => {
    const path = fresh();
    const server = await TestServer.start(path);
    await server.stop();
    const pki = join(server.dataDir, 'pki');
    writeFileSync(join(pki, 'ca.key'), readFileSync(join(pki, 'client-ca.key')));
    expectRefusal(await serve(server.dataDir), /ca\.key is not the key of .*ca\.crt/);
  });
});

describe('files and ports', () => {
  test('a port in use', async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => {
        const address = other.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
    const exit = await run([
      'serve',
      '--data-dir',
      fresh(),
      '--secure-port',
      String(port),
      '--bind-address',
      '127.0.0.1',
    ]);
    other.close();
    expectRefusal(exit, new RegExp(`--secure-port: 127\\.0\\.0\\.1 port ${port} is in use`));
  });

  test('a certificate file that is missing or malformed', async () => {
    const path = fresh();
    const file = join(path, 'cert.pem');
    const flags = ['--tls-cert-file', file, '--tls-private-key-file', file];
    expectRefusal(await serve(join(path, 'data'), ...flags), /--tls-cert-file: cannot read .*cert\.pem/);
    writeFileSync(file, 'not a certificate');
    expectRefusal(await serve(join(path, 'data'), ...flags), /cert\.pem contains no certificate/);
  });

  test('a token file that is missing or malformed', async () => {
    const path = fresh();
    const file = join(path, 'tokens.csv');
    expectRefusal(await serve(join(path, 'data'), '--token-auth-file', file), /--token-auth-file: cannot read/);
    writeFileSync(file, 'only,two\n');
    expectRefusal(await serve(join(path, 'data'), '--token-auth-file', file), /tokens\.csv/);
  });

  test('serves the certificate from the flags', async () => {
    const path = fresh();
    const first = await TestServer.start(path);
    await first.stop();
    const pki = join(first.dataDir, 'pki');
    const other = fresh();
    const names = ['apiserver.crt', 'apiserver.key'].map((name) => join(pki, name));
    const [cert, key] = names as [string, string];
    const server = await TestServer.start(other, ['--tls-cert-file', cert, '--tls-private-key-file', key]);
    // Signed by the CA of the first data directory, not by the CA of this one.
    const answer = await new Http1(server).get('/version').catch((error: unknown) => String(error));
    expect(answer).toMatch(/certificate|signature/);
    await server.stop();
  });

  test('a data directory that is not writable', async () => {
    const path = fresh();
    const link = join(path, 'link');
    symlinkSync(join(path, 'absent', 'deeper'), link);
    const exit = await serve(join(link, 'data'));
    expectRefusal(exit, /--data-dir: cannot create/);
    expect(existsSync(join(path, 'absent'))).toBe(false);
  });
});
