import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { arch } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { findKubectl } from '../conformance/kubectl.js';
import { eventually, ROOT, scratchFolder } from '../integration/server.js';

const VERSION = '9.8.7';
const ARCHITECTURE = arch() === 'x64' ? 'amd64' : arch();
const NAME = `annex-${VERSION}-linux-${ARCHITECTURE}`;
const helm = spawnSync(join(ROOT, 'hack/tools/helm.sh'), { encoding: 'utf8' });
const [suite, why] = helm.status === 0 ? [describe, ''] : [describe.skip, ` (skipped: ${helm.stderr.trim()})`];
const kubectl = findKubectl();

suite(`hack/release.sh${why}`, () => {
  let server: ChildProcess | undefined;
  const folder = scratchFolder(() => {
    server?.kill('SIGKILL');
    return Promise.resolve();
  });
  const out = join(folder, 'out');
  const read = (name: string): string => readFileSync(join(out, name), 'utf8');

  beforeAll(() => {
    const env = { ...process.env, ARCHITECTURES: ARCHITECTURE, IMAGES: 'no' };
    const built = spawnSync('hack/release.sh', [VERSION, out], { cwd: ROOT, env, encoding: 'utf8' });
    if (built.status !== 0) throw new Error(built.stdout + built.stderr);
  }, 600_000);

  test('builds the files that docs/releasing.md lists, with checksums', () => {
    const names = readdirSync(out).sort();
    expect(names).toEqual(
      [
        'NOTES.md',
        'SHA256SUMS',
        'THIRD-PARTY-LICENCES.md',
        `${NAME}.tar.gz`,
        `annex-${VERSION}.cdx.json`,
        `annex-${VERSION}.tgz`,
        'annex.yaml',
        'annex-doctor.yaml',
      ].sort(),
    );
    const sums = names
      .filter((name) => name !== 'SHA256SUMS')
      .map(
        (name) =>
          `${createHash('sha256')
            .update(readFileSync(join(out, name)))
            .digest('hex')}  ${name}`,
      );
    expect(read('SHA256SUMS').trim().split('\n').sort()).toEqual(sums.sort());
    expect(read('NOTES.md')).toContain('\n- ');
  });

  test('the CycloneDX SBOM lists the shipped packages with versions and licenses', () => {
    const sbom = JSON.parse(read(`annex-${VERSION}.cdx.json`)) as {
      readonly bomFormat: string;
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    expect(sbom.bomFormat).toBe('CycloneDX');
    const listed = new Set(sbom.components.map(({ name, version }) => `${name} ${version}`));
    const licences = [...read('THIRD-PARTY-LICENCES.md').matchAll(/^\| (\S+) \| (\S+) \| (\S.*) \|$/gm)].slice(1);
    expect(licences.length).toBeGreaterThan(50);
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    const named = new Set(licences.map(([, name]) => name));
    expect(Object.keys(dependencies).filter((name) => !named.has(name))).toEqual([]);
    expect([...listed].some((entry) => entry.startsWith('lmdb '))).toBe(true);
    expect([...listed].some((entry) => entry.startsWith('jest '))).toBe(false);
  });

  test('chart and manifests reference the image of the version', () => {
    const rendered = spawnSync(
      helm.stdout.trim(),
      ['template', 'annex', join(out, `annex-${VERSION}.tgz`), '--kube-version', '1.37.0'],
      {
        encoding: 'utf8',
      },
    );
    expect(rendered.stderr).toBe('');
    expect(parseAllDocuments(rendered.stdout + read('annex.yaml')).length).toBeGreaterThan(10);
    for (const text of [rendered.stdout, read('annex.yaml'), read('annex-doctor.yaml')]) {
      expect(text).toContain(`image: "annex:${VERSION}"`);
      expect(text).toContain(`app.kubernetes.io/version: "${VERSION}"`);
    }
  });

  test('the archive runs without any installed program, and kubectl works with it', async () => {
    expect(spawnSync('tar', ['xzf', join(out, `${NAME}.tar.gz`), '-C', folder]).status).toBe(0);
    // Only the programs that its script calls are on the PATH. The archive is reached through a link.
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    for (const name of ['dirname', 'readlink']) {
      const found = spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim();
      symlinkSync(found, join(bin, name));
    }
    symlinkSync(join(folder, NAME, 'bin/annex'), join(bin, 'annex'));
    const annex = join(bin, 'annex');
    const env = { PATH: bin, HOME: folder };
    const version = spawnSync(annex, ['version', '-o', 'json'], { env, encoding: 'utf8' });
    expect(JSON.parse(version.stdout)).toMatchObject({
      version: VERSION,
      nodeVersion: expect.stringMatching(/^v24\./) as unknown,
    });
    const data = join(folder, 'data');
    const flags = ['--data-dir', data, '--bind-address', '127.0.0.1', '--secure-port', '0'];
    server = spawn(annex, ['serve', ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [server.stdout, server.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (said += text));
    }
    await eventually('the archive’s server serves', () => {
      if (server?.exitCode !== null) throw new Error(said);
      return Promise.resolve(said.includes('Annex serves') || undefined);
    });
    expect(existsSync(join(data, 'admin.kubeconfig'))).toBe(true);
    if (!('path' in kubectl)) return;
    const k = (...args: string[]): string => {
      const all = ['--kubeconfig', join(data, 'admin.kubeconfig'), ...args];
      const { status, stdout, stderr } = spawnSync(kubectl.path, all, { encoding: 'utf8', cwd: ROOT });
      if (status !== 0) throw new Error(stderr);
      return stdout;
    };
    k('apply', '--server-side', '-f', 'examples/crds');
    k('wait', 'crd', '--all', '--for=condition=Established', '--timeout=60s');
    k('apply', '-f', 'examples/objects');
    expect(k('get', 'policyreports', '-A', '-o', 'name')).toContain('policyreport');
    const ended = new Promise((resolve) => server?.once('exit', resolve));
    server.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});
