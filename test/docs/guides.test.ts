import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findKubectl } from '../conformance/kubectl.js';
import { freePorts, Started, writeKeys } from '../convert/control-plane.js';
import { ROOT, scratchFolder } from '../integration/server.js';
import { freePort, Guide, shellBlocks } from './guides.js';

const TOOLS = process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools');
const kubectl = findKubectl();
const [suite, why] = 'path' in kubectl ? [describe, ''] : [describe.skip, ` (skipped: ${kubectl.missing})`];
const kubectlPath = 'path' in kubectl ? kubectl.path : '';

const go = spawnSync('go', ['version']).status === 0;

interface Report {
  readonly summary?: { readonly fail?: number };
}

const failsOf = ({ summary }: Report): number => summary?.fail ?? 0;

/** Runs all shell blocks of a page in order. Returns their output. */
async function followed(guide: Guide | undefined, page: string): Promise<string[]> {
  const printed: string[] = [];
  for (const { kind, text } of shellBlocks(page)) {
    if (kind === 'sh server') await guide?.serve(text);
    else if (kind === 'sh') printed.push((await guide?.run(text)) ?? '');
  }
  return printed;
}

const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

suite(`guides on a standalone server${why}`, () => {
  let guide: Guide | undefined;
  const folder = scratchFolder(() => guide?.stop() ?? Promise.resolve());
  const names: Record<string, string> = {
    DATA_DIR: join(folder, 'data'),
    BACKUP: join(folder, 'annex.backup'),
    RESTORED: join(folder, 'restored'),
    KUBECONFIG: join(folder, 'data/admin.kubeconfig'),
  };
  beforeAll(async () => {
    guide = new Guide(folder, { kubectl: `"${kubectlPath}"` }, { ...names, PORT: await freePort() });
  });

  const follow = (page: string): Promise<string[]> => followed(guide, page);

  test('standalone.md', async () => {
    const [first = '', token = '', doctor = ''] = await follow('standalone.md');
    expect(first.match(/^sample-/gm)?.length).toBeGreaterThan(2);
    expect(token.match(/^sample-/gm)?.length).toBeGreaterThan(2);
    expect(doctor).toMatch(/^server: ok/m);
  });

  test('troubleshooting.md', async () => {
    const [doctor = '', rest = ''] = await follow('troubleshooting.md');
    expect(doctor).not.toContain(': failed');
    expect(rest).toMatch(/^readyz check passed$/m);
    expect(rest).toMatch(/^apiserver_resource_objects\{.*policyreports.*\} [1-9]/m);
  });

  (go ? test : test.skip)('controllers.md: the samples build and do what they say', async () => {
    const [printed = ''] = await follow('controllers.md');
    expect(printed).toMatch(/^4 reports$/m);
    expect(printed).toMatch(/^reports\/sample-.*: \d+ failed$/m);
    expect(printed).toMatch(/^reports: 4 reports, [1-9]\d* failed$/m);
  });

  test('backup.md', async () => {
    const printed: string[] = [];
    for (const { kind, text } of shellBlocks('backup.md')) {
      if (kind === 'sh') printed.push((await guide?.run(text)) ?? '');
      if (kind !== 'sh server') continue;
      // The backup was made while the server ran.
      await guide?.stop();
      await guide?.serve(text);
    }
    const [, restored = '', reports = ''] = printed;
    expect(restored).toMatch(/^Restored \d+ objects of revision \d+ /m);
    expect(restored).toMatch(/^store: ok \(.*at revision \d+\)$/m);
    expect(restored).toMatch(/^records: ok /m);
    expect(reports.match(/^reports +sample-/gm)?.length).toBeGreaterThan(2);
  });
});

suite(`asking${why}`, () => {
  let guide: Guide | undefined;
  const folder = scratchFolder(() => guide?.stop() ?? Promise.resolve());

  test('asking.md', async () => {
    const names = { DATA_DIR: join(folder, 'data'), KUBECONFIG: join(folder, 'data/admin.kubeconfig') };
    guide = new Guide(folder, { kubectl: `"${kubectlPath}"` }, { ...names, PORT: await freePort() });
    const [, ...answers] = await followed(guide, 'asking.md');
    const lists = answers.map((text) => JSON.parse(text) as { metadata: object; items: readonly Report[] });
    const [failing, recent, most, count, mention, namespaces] = lists;
    const all = recent?.items.length ?? 0;
    expect(all).toBeGreaterThan(2);
    expect(failing?.items.length).toBeGreaterThan(0);
    expect(failing?.items.every((report) => failsOf(report) > 0)).toBe(true);
    const fails = recent?.items.map(failsOf).sort((a, b) => b - a);
    expect(most?.items.map(failsOf)).toEqual(fails?.slice(0, 2));
    const { remainingItemCount = 0 } = count?.metadata as { remainingItemCount?: number };
    expect(remainingItemCount + 1).toBe(failing?.items.length);
    expect(mention?.items.length).toBeGreaterThan(0);
    expect(namespaces?.items.length).toBeGreaterThan(2);
  });
});

suite(`views${why}`, () => {
  let guide: Guide | undefined;
  const folder = scratchFolder(() => guide?.stop() ?? Promise.resolve());

  test('views.md', async () => {
    const names = { DATA_DIR: join(folder, 'data'), KUBECONFIG: join(folder, 'data/admin.kubeconfig') };
    guide = new Guide(folder, { kubectl: `"${kubectlPath}"` }, { ...names, PORT: await freePort() });
    const [, query = '', worst = ''] = await followed(guide, 'views.md');
    const { status } = JSON.parse(query) as { status: { columns: string[]; rows: [string, number, number][] } };
    expect(status.columns).toEqual(['namespace', 'reports', 'fail']);
    expect(status.rows).toEqual([['reports', expect.any(Number), expect.any(Number)]]);
    expect(JSON.parse(worst)).toEqual([[[expect.stringContaining('sample-'), expect.stringContaining('sample-')]]]);
  });
});

const missing = ['etcd', 'kube-apiserver', 'helm'].filter((name) => !existsSync(join(TOOLS, name)));
const [installs, whyNot] =
  missing.length === 0 && kubectlPath !== '' ? [describe, ''] : [describe.skip, ` (skipped: no ${missing.join(', ')})`];

/** Third-party kinds, reduced to what their API server validates here. */
const FOREIGN = ['certificates.cert-manager.io'].map((name) => {
  const dot = name.indexOf('.');
  const [plural, group] = [name.slice(0, dot), name.slice(dot + 1)];
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: 'certificate', kind: 'Certificate' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
});

installs(`install.md on a real kube-apiserver${whyNot}`, () => {
  let folder: string;
  let server: Started | undefined;
  let guide: Guide;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'install-guide-'));
    writeKeys(folder);
    server = await Started.begin(TOOLS, folder, await freePorts(3));
    const config = server.writeKubeconfig();
    const programs = { kubectl: `"${kubectlPath}"`, helm: `"${join(TOOLS, 'helm')}"` };
    const names = {
      KUBECONFIG: config,
      IMAGE: 'registry.example.com/annex',
      MONGODB_URI: 'mongodb://m',
      ISSUER: 'company',
    };
    guide = new Guide(folder, programs, names);
    writeFileSync(join(folder, 'foreign.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: FOREIGN }));
    await guide.run(
      `kubectl create -f ${join(folder, 'foreign.json')} && kubectl wait --for=condition=Established crd --all`,
    );
  }, 260_000);

  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const blocks = shellBlocks('install.md').filter(({ kind }) => kind === 'sh');
  const get = (path: string, type = 'deployment annex'): Promise<string> =>
    guide.run(`kubectl -n annex-system get ${type} -o jsonpath='{${path}}'`);

  test('Helm', async () => {
    await guide.run(blocks[0]?.text ?? '');
    expect(await get('.spec.template.spec.containers[0].image')).toMatch(/^registry\.example\.com\/annex:/);
  });

  test('cert-manager', async () => {
    await guide.run(blocks[3]?.text ?? '');
    expect(await get('.spec.issuerRef.name', 'certificate.cert-manager.io annex')).toBe('company');
  });

  test('OpenShift: sets no user', async () => {
    await guide.run(blocks[4]?.text ?? '');
    expect(await get('.spec.template.spec.securityContext')).toBe(
      '{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}',
    );
  });

  test('manifests, after helm uninstall', async () => {
    await guide.run('helm uninstall annex -n annex-system');
    expect(await guide.run(blocks[1]?.text ?? '')).toContain('deployment.apps/annex created');
    expect(await guide.run(blocks[2]?.text ?? '')).toBe('pod/annex-check created\n');
    expect(await get('.spec.template.spec.containers[0].image')).toMatch(/^registry\.example\.com\/annex:\d/);
    expect(await get('.spec.containers[0].image', 'pod annex-check')).toMatch(/^registry\.example\.com\/annex:\d/);
    expect(await guide.run('kubectl delete -f manifests/annex.yaml')).not.toMatch(/^namespace "/m);
    await guide.run('kubectl get namespace annex-system');
  });
});

test('the figures of sizing.md match the results', () => {
  const results = ['v0.1.0.md', 'mongodb-v0.1.0.md', 'scale-v0.1.0.md']
    .map((name) => read(`test/bench/results/${name}`))
    .join('\n');
  const text = read('docs/sizing.md');
  const measured = text.slice(text.indexOf('## Memory'), text.indexOf('As a rule'));
  const figures = [...measured.matchAll(/([\d,]+) MB/g)].map(([, figure]) => figure ?? '');
  expect(figures.length).toBe(8);
  for (const figure of figures) expect(results).toMatch(new RegExp(`\\b${figure}\\b`));
  const cpu = [...text.matchAll(/([\d.]+) ms\b/g)].map(([, figure]) => figure ?? '');
  for (const figure of cpu.filter((one) => one.includes('.') && one !== '0.5')) expect(results).toContain(figure);
});

test('the chart has the memory limit of the sizing table', () => {
  const [, limit, heap] =
    /1,000,000 \| (\d+) GiB \(the chart's default\) \| ([\d,]+)/.exec(read('docs/sizing.md')) ?? [];
  const values = read('charts/annex/values.yaml');
  expect(values).toContain(`    memory: ${limit ?? ''}Gi\n`);
  expect(values).toContain(`maxOldSpaceMiB: ${(heap ?? '').replace(',', '')}\n`);
});

test('every page is in the index', () => {
  const index = read('docs/README.md');
  const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md');
  expect(pages.filter((name) => !index.includes(`](${name})`))).toEqual([]);
});

test.each([...readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md')), '../README.md'])(
  'the tables of %s render: each row has the cells of its head',
  (page) => {
    let cells: number | undefined;
    const wrong: string[] = [];
    for (const line of read(join('docs', page)).split('\n')) {
      const count = line.startsWith('|') ? line.replaceAll('\\|', '').split('|').length : undefined;
      if (cells !== undefined && count !== undefined && count !== cells) wrong.push(line);
      cells = count === undefined ? undefined : (cells ?? count);
    }
    expect(wrong).toEqual([]);
  },
);

const condition = (type: string, status: string) => ({ type, status, reason: 'Why', message: 'because' });

function judge(object: object, script = 'health.lua'): unknown {
  const { status, stdout, stderr } = spawnSync('go', ['run', '.', join(ROOT, 'examples/argocd', script)], {
    cwd: join(__dirname, 'lua'),
    input: JSON.stringify(object),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as unknown;
}

(go ? describe : describe.skip)('examples/argocd/adoption-health.lua, in the interpreter of Argo CD', () => {
  const adoption = (servedBy: string, phase: string, ...conditions: object[]): object => ({
    metadata: {},
    spec: { servedBy },
    status: { phase, conditions },
  });
  test.each<[string, object, string]>([
    ['one that was just created', { metadata: {}, spec: {} }, 'Progressing'],
    ['one that is copied', adoption('Cluster', 'Copying', condition('InSync', 'False')), 'Progressing'],
    ['one that is rehearsed', adoption('Cluster', 'InSync'), 'Healthy'],
    ['one that is to be switched', adoption('Annex', 'InSync', condition('InSync', 'True')), 'Progressing'],
    ['one that cannot switch', adoption('Annex', 'InSync', condition('Switchable', 'False')), 'Degraded'],
    ['one that moves', adoption('Annex', 'Fencing', condition('Ready', 'False')), 'Progressing'],
    ['one that is switched', adoption('Annex', 'Served'), 'Healthy'],
    ['one that is to go back', adoption('Cluster', 'Served', condition('Ready', 'True')), 'Progressing'],
    ['one that failed', adoption('Annex', 'Failed', condition('Switched', 'False')), 'Degraded'],
  ])('%s', (_, object, status) => {
    expect(judge(object, 'adoption-health.lua')).toMatchObject({ status });
  });
});

(go ? describe : describe.skip)('examples/argocd/health.lua, in the interpreter of Argo CD', () => {
  const served = [condition('NamesAccepted', 'True'), condition('Established', 'True')];

  test.each<[string, object, string]>([
    ['one that was just created', { metadata: {} }, 'Progressing'],
    ['one that is served, not registered yet', { metadata: {}, status: { conditions: served } }, 'Progressing'],
    [
      'one that is registered',
      { metadata: {}, status: { conditions: [...served, condition('Registered', 'True')] } },
      'Healthy',
    ],
    [
      'one whose group version is taken',
      { metadata: {}, status: { conditions: [...served, condition('Registered', 'False')] } },
      'Degraded',
    ],
    ['one without names', { metadata: {}, status: { conditions: [condition('NamesAccepted', 'False')] } }, 'Degraded'],
    [
      'one that is leaving',
      { metadata: { deletionTimestamp: 'now' }, status: { conditions: [...served, condition('Registered', 'True')] } },
      'Progressing',
    ],
  ])('%s', (_, object, status) => {
    expect(judge(object)).toMatchObject({ status });
  });
});
