import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { freePorts, Started, writeKeys } from '../convert/control-plane.js';

const ROOT = join(__dirname, '../..');
const TOOLS = process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools');
const missing = ['etcd', 'kube-apiserver', 'kubectl'].filter((name) => !existsSync(join(TOOLS, name)));
const title = 'kube-apiserver accepts the rendered chart under strict field validation';
/** Third-party types: the e2e tests check these against their own definitions. */
const FOREIGN = /^(monitoring\.coreos\.com|cert-manager\.io)\//;

(missing.length === 0 ? describe : describe.skip)(
  missing.length === 0 ? title : `${title} (skipped: no ${missing.join(', ')})`,
  () => {
    let folder: string;
    let server: Started | undefined;

    const kubectl = (...args: string[]): string[] => [
      `--server=https://127.0.0.1:${server?.port ?? 0}`,
      `--certificate-authority=${join(folder, 'server.crt')}`,
      '--token=convert',
      ...args,
    ];

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'chart-server-'));
      writeKeys(folder);
      server = await Started.begin(TOOLS, folder, await freePorts(3));
      for (const name of ['annex-system', 'monitoring'])
        execFileSync(join(TOOLS, 'kubectl'), kubectl('create', 'namespace', name));
    }, 260_000);

    afterAll(async () => {
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test.each(readdirSync(join(__dirname, 'golden')))('%s', (name) => {
      const objects = parseAllDocuments(readFileSync(join(__dirname, 'golden', name), 'utf8'))
        .map((document) => document.toJS() as unknown)
        .filter((value): value is { apiVersion: string; kind: string } => typeof value === 'object' && value !== null)
        .filter(({ apiVersion }) => !FOREIGN.test(apiVersion));
      const file = join(folder, name);
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
      const args = kubectl('create', '--dry-run=server', '--validate=strict', '-o', 'name', '-f', file);
      const { status, stdout, stderr } = spawnSync(join(TOOLS, 'kubectl'), args, { encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, '']);
      expect(stdout.trim().split('\n')).toHaveLength(objects.length);
    });
  },
);
