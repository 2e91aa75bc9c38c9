import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, Started, writeKeys } from '../convert/control-plane.js';

const ROOT = join(__dirname, '../..');
const TOOLS = process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools');
/** The last commit with the chart that cut names at 52 characters. */
const BEFORE = 'fba5e96';
const RELEASE = `${'r'.repeat(52)}9`;
const NAMESPACE = 'annex-system';

const hasCommit = spawnSync('git', ['cat-file', '-e', `${BEFORE}^{commit}`], { cwd: ROOT }).status === 0;
const missing = [
  ...['etcd', 'kube-apiserver', 'kubectl', 'helm'].filter((name) => !existsSync(join(TOOLS, name))),
  ...(hasCommit ? [] : [`commit ${BEFORE}`]),
];
const title = 'helm upgrade from the previous chart, with a release name of 53 characters';

(missing.length === 0 ? describe : describe.skip)(
  missing.length === 0 ? title : `${title} (skipped: no ${missing.join(', ')})`,
  () => {
    let folder: string;
    let server: Started | undefined;
    let config: string;

    const run = (program: string, ...args: string[]): string =>
      execFileSync(join(TOOLS, program), args, {
        encoding: 'utf8',
        env: { ...process.env, KUBECONFIG: config, HOME: folder },
      });
    const uids = (type: string): Record<string, string> => {
      const path = '{range .items[*]}{.metadata.name}={.metadata.uid}{"\\n"}{end}';
      const selector = `app.kubernetes.io/instance=${RELEASE}`;
      const text = run('kubectl', 'get', type, '-A', '-l', selector, '-o', `jsonpath=${path}`);
      return Object.fromEntries(
        text
          .trim()
          .split('\n')
          .map((line) => line.split('=') as [string, string]),
      );
    };
    const helm = (command: string, chart: string, ...settings: string[]): string =>
      run('helm', command, RELEASE, chart, '-n', NAMESPACE, ...settings.flatMap((one) => ['--set', one]));

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'chart-upgrade-'));
      writeKeys(folder);
      server = await Started.begin(TOOLS, folder, await freePorts(3));
      config = server.writeKubeconfig();
      const chart = join(folder, 'before');
      mkdirSync(chart);
      const archive = execFileSync('git', ['archive', BEFORE, 'charts/annex'], { cwd: ROOT, maxBuffer: 1 << 26 });
      execFileSync('tar', ['-x', '-C', chart], { input: archive });
      run('kubectl', 'create', 'namespace', NAMESPACE);
    }, 260_000);

    afterAll(async () => {
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test.each<[string, string[]]>([
      ['MongoDB', []],
      ['the embedded store', ['storage.backend=embedded', 'replicas=1']],
    ])('%s: what owns others, and the volume, stay', (_, settings) => {
      helm('install', join(folder, 'before/charts/annex'), ...settings);
      const [roles, claims] = [uids('clusterroles'), uids('persistentvolumeclaims')];
      // As described in docs/upgrading.md.
      const upgrade = ['upgrade', RELEASE, join(ROOT, 'charts/annex'), '-n', NAMESPACE, '--reset-then-reuse-values'];
      for (let times = 0; times < 2; times++) {
        run('helm', ...upgrade);
        expect(uids('clusterroles')).toMatchObject(roles);
        expect(uids('persistentvolumeclaims')).toEqual(claims);
      }
      const values = JSON.parse(run('helm', 'get', 'values', RELEASE, '-n', NAMESPACE, '-o', 'json')) as unknown;
      expect(JSON.stringify(values)).toBe(
        settings.length === 0 ? 'null' : '{"replicas":1,"storage":{"backend":"embedded"}}',
      );
      run('helm', 'rollback', RELEASE, '1', '-n', NAMESPACE);
      expect(uids('clusterroles')).toMatchObject(roles);
      run('helm', ...upgrade);
      expect(uids('clusterroles')).toMatchObject(roles);
      const args = run(
        'kubectl',
        '-n',
        NAMESPACE,
        'get',
        'deployments',
        '-o',
        'jsonpath={.items[0].spec.template.spec.containers[0].args}',
      );
      const owner = /--owner-cluster-role=([^"]*)/.exec(args)?.[1] ?? '';
      expect(Object.keys(roles)).toContain(owner);
      run('helm', 'uninstall', RELEASE, '-n', NAMESPACE);
    });

    test('two releases of one name in two namespaces share nothing, and keep their names', () => {
      const install = (namespace: string, command: string): string =>
        run('helm', command, 'annex', join(ROOT, 'charts/annex'), '-n', namespace, '--create-namespace');
      /** The names of the objects outside of the release's namespace, and the role that the server is given as owner. */
      const outside = (namespace: string): readonly string[] => {
        const manifest = run('helm', 'get', 'manifest', 'annex', '-n', namespace);
        const documents = manifest.split(/^---$/m).filter((text) => !text.includes(`namespace: ${namespace}\n`));
        const names = documents.flatMap((text) => /^ {2}name: (\S+)$/m.exec(text)?.[1] ?? []);
        return [...names, /--owner-cluster-role=(\S+)/.exec(manifest)?.[1] ?? ''];
      };
      install('first', 'install');
      install('second', 'install');
      const [first, second] = [outside('first'), outside('second')];
      expect(first).toContain('annex');
      expect(second.length).toBe(first.length);
      expect(second).toEqual(first.map((name) => name.replace(/^annex/, 'annex-second')));
      install('first', 'upgrade');
      expect(outside('first')).toEqual(first);
      run('helm', 'uninstall', 'annex', '-n', 'first');
      install('second', 'upgrade');
      expect(outside('second')).toEqual(second);
      install('first', 'install');
      expect(outside('first')).toEqual(first);
      for (const namespace of ['first', 'second']) run('helm', 'uninstall', 'annex', '-n', namespace);
    });
  },
);
