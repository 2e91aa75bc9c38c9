import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  stringAt,
  textOf,
} from '../../src/apimachinery/json/json.js';
import { normalizeArguments, serveCommand } from '../../src/server/options/command-line.js';
import { scratchFolder } from '../integration/server.js';
import type { Options } from '../../src/server/options/options.js';

const root = resolve(__dirname, '../..');
const chart = join(root, 'charts/annex');
const golden = join(__dirname, 'golden');
const names = readdirSync(join(chart, 'ci')).map((file) => file.replace(/-values\.yaml$/, ''));

function findHelm(): string | undefined {
  const built = join(process.env['ANNEX_TOOLS_DIR'] ?? join(root, '.cache/tools'), 'helm');
  if (existsSync(built)) return built;
  return spawnSync('helm', ['version']).status === 0 ? 'helm' : undefined;
}

const helm = findHelm();
const scratch = scratchFolder();

interface Rendering {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const template = (...args: string[]): Rendering => templateAs('annex', ...args);

function templateAs(release: string, ...args: string[]): Rendering {
  const fixed = ['template', release, chart, '--namespace', 'annex-system', '--kube-version', '1.37.2'];
  return spawnSync(helm ?? '', [...fixed, ...args], { encoding: 'utf8' });
}

const documents = (text: string): JsonObject[] =>
  parseAllDocuments(text)
    .map((document): JsonValue => document.toJS() as JsonValue)
    .filter(isObject);

const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');

const valuesOf = (name: string): JsonObject => parse(read(chart, 'ci', `${name}-values.yaml`)) as JsonObject;

function merged(base: JsonObject, over: JsonObject): JsonObject {
  const result: JsonObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = result[key];
    result[key] = value !== undefined && isObject(before) && isObject(value) ? merged(before, value) : value;
  }
  return result;
}

const validate = new Ajv({ allowUnionTypes: true }).compile(parse(read(chart, 'values.schema.json')) as JsonObject);
const defaults = parse(read(chart, 'values.yaml')) as JsonObject;

const only = (objects: JsonObject[], kind: string): JsonObject => {
  const [found, ...more] = objects.filter((object) => object['kind'] === kind);
  if (found === undefined || more.length > 0) throw new Error(`there is not one ${kind}`);
  return found;
};

/** Returns the spec of the pod of the only object of a kind, or of that pod itself. */
function podSpec(objects: JsonObject[], kind: string): JsonObject {
  const spec = objectAt(only(objects, kind), 'spec') ?? {};
  return kind === 'Pod' ? spec : (objectAt(objectAt(spec, 'template'), 'spec') ?? {});
}

function container(objects: JsonObject[], kind = 'Deployment'): JsonObject {
  const containers = podSpec(objects, kind)['containers'];
  const [first] = Array.isArray(containers) ? containers : [];
  if (!isObject(first)) throw new Error('there is no container');
  return first;
}

const isUninstallCheck = (object: JsonObject): boolean =>
  stringAt(objectAt(object, 'metadata'), 'name') === 'annex-uninstall-check';

const listOf = (object: JsonObject, key: string): JsonValue[] => {
  const value = object[key];
  return Array.isArray(value) ? value : [];
};

async function optionsOf(args: string[]): Promise<Options> {
  let options: Options | undefined;
  const command = serveCommand((given) => {
    options = given;
    return Promise.resolve();
  });
  command.exitOverride().configureOutput({ outputError: () => undefined });
  await command.parseAsync(normalizeArguments(args.slice(1)), { from: 'user' });
  if (options === undefined) throw new Error('the command did not run');
  return options;
}

/** The volumes that OpenShift's SecurityContextConstraints restricted-v2 allow. */
const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/** Returns the reasons why restricted-v2 would refuse the pod: it sets users and groups itself, and allows no access to the host. */
function refusals(pod: JsonObject): string[] {
  const context = objectAt(pod, 'securityContext') ?? {};
  const found: string[] = [];
  for (const key of ['runAsUser', 'fsGroup']) if (key in context) found.push(`${key} ${JSON.stringify(context[key])}`);
  if (objectAt(context, 'seccompProfile')?.['type'] !== 'RuntimeDefault') found.push('seccompProfile');
  for (const key of ['hostNetwork', 'hostPID', 'hostIPC']) if (pod[key] === true) found.push(key);
  for (const volume of listOf(pod, 'volumes').filter(isObject)) {
    const kinds = Object.keys(volume).filter((key) => key !== 'name');
    found.push(...kinds.filter((kind) => !VOLUMES.includes(kind)));
  }
  for (const one of listOf(pod, 'containers').filter(isObject)) {
    const own = objectAt(one, 'securityContext') ?? {};
    if (own['allowPrivilegeEscalation'] !== false) found.push('allowPrivilegeEscalation');
    if (JSON.stringify(objectAt(own, 'capabilities')) !== '{"drop":["ALL"]}') found.push('capabilities');
    if (own['privileged'] === true) found.push('privileged');
    for (const port of listOf(one, 'ports').filter(isObject)) if ('hostPort' in port) found.push('hostPort');
  }
  return found;
}

/** Values that no file of charts/annex/ci changes. */
const AS_BY_DEFAULT: readonly string[] = ['fullnameOverride', 'doctor'];

const MAPS = { apiGroups: [''], resources: ['configmaps'] };

describe('values', () => {
  test.each(names)('%s pass the schema', (name) => {
    expect([validate(merged(defaults, valuesOf(name))), validate.errors]).toEqual([true, null]);
  });

  test.each<[string, JsonObject]>([
    ['no replica', { replicas: 0 }],
    ['another store', { storage: { backend: 'etcd' } }],
    ['another mode of certificates', { certificates: { mode: 'none' } }],
    ['a missing key', { replica: 2 }],
    ['a port out of range', { service: { port: 70_000 } }],
    ['an argument that is not a flag', { extraArgs: ['v'] }],
    ['rules for params that say verbs', { admission: { paramRules: [{ ...MAPS, verbs: ['*'] }] } }],
    ['rules for params without a resource', { admission: { paramRules: [{ ...MAPS, resources: [] }] } }],
    ['no image', { image: { repository: '' } }],
    ['an annotation that is a number', { podAnnotations: { a: 1 } }],
    ['a digest of another kind', { image: { digest: 'latest' } }],
    ['a role without verbs', { rbac: { servedTypes: [{ name: 'a', apiGroups: ['b'], resources: ['c'] }] } }],
    ['a Secret without a name', { storage: { mongodb: { uriSecret: { name: '' } } } }],
  ])('the schema refuses %s', (_, values) => {
    expect(validate(merged(defaults, values))).toBe(false);
  });
});

test('every value is used by a template, and set otherwise than by default in what is rendered here', () => {
  const folder = join(chart, 'templates');
  const templates = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(yaml|tpl|txt)$/.test(name))
    .map((name) => read(folder, name))
    .join('\n');
  const keys = Object.keys(defaults);
  expect(keys.filter((key) => !templates.includes(`.Values.${key}`))).toEqual([]);
  const set = new Set(names.flatMap((name) => Object.keys(valuesOf(name))));
  expect(keys.filter((key) => !set.has(key))).toEqual(AS_BY_DEFAULT);
});

describe('rendered', () => {
  test.each(names)('%s starts with flags that annex serve takes', async (name) => {
    const args = listOf(container(documents(read(golden, `${name}.yaml`))), 'args').map(String);
    expect(args[0]).toBe('serve');
    expect(await optionsOf(args)).toMatchObject({ serviceName: 'annex', serviceNamespace: 'annex-system' });
  });

  test.each(
    names.flatMap((name) => [
      [name, 'Deployment'],
      [name, 'Pod'],
    ]),
  )('%s: a %s mounts the volumes that are there', (name, kind) => {
    const objects = documents(read(golden, `${name}.yaml`)).filter((one) => !isUninstallCheck(one));
    const named = (values: JsonValue[]): (string | undefined)[] =>
      values.filter(isObject).map((value) => stringAt(value, 'name'));
    const volumes = named(listOf(podSpec(objects, kind), 'volumes'));
    expect(volumes).toEqual(named(listOf(container(objects, kind), 'volumeMounts')));
  });

  test('uninstalling is checked where groups may be adopted, unless a value says to leave them', () => {
    const [check, ...more] = documents(read(golden, 'full.yaml')).filter(isUninstallCheck);
    expect(more).toEqual([]);
    expect(objectAt(objectAt(check, 'metadata'), 'annotations')).toMatchObject({ 'helm.sh/hook': 'pre-delete' });
    expect(listOf(container(check === undefined ? [] : [check], 'Pod'), 'args')).toEqual(['uninstall-check']);
    expect(documents(read(golden, 'default.yaml')).filter(isUninstallCheck)).toEqual([]);
  });

  test('the CronJob of backups has arguments that annex backup takes, into a volume or to a container that uploads', async () => {
    const job = (objects: JsonObject[]): JsonObject => {
      const spec = objectAt(objectAt(objectAt(only(objects, 'CronJob'), 'spec'), 'jobTemplate'), 'spec');
      return objectAt(objectAt(spec, 'template'), 'spec') ?? {};
    };
    const mounted = job(documents(read(golden, 'full.yaml')));
    const [backup, ...more] = listOf(mounted, 'containers').filter(isObject);
    expect(more).toEqual([]);
    const args = listOf(backup ?? {}, 'args').map(String);
    const own = new Set(['--output=/backup', '--keep=3']);
    expect(args.filter((arg) => own.has(arg))).toEqual([...own]);
    expect(await optionsOf(args.filter((arg) => !own.has(arg)))).toMatchObject({ storageBackend: 'mongodb' });
    const upload = ['--set', 'backup.enabled=true,backup.upload.image=rclone,backup.upload.args={copy,/backup,s3:b}'];
    const pod = job(documents(template(...upload).stdout));
    const [first] = listOf(pod, 'initContainers').filter(isObject);
    expect(listOf(first ?? {}, 'args')).not.toContain('--keep=7');
    const [second] = listOf(pod, 'containers').filter(isObject);
    expect(second).toMatchObject({ name: 'upload', image: 'rclone', args: ['copy', '/backup', 's3:b'] });
    expect(listOf(pod, 'volumes')[0]).toEqual({ name: 'backup', emptyDir: {} });
  });

  test('backups of the embedded store are refused with what to do instead', () => {
    const { status, stderr } = template('--set', 'storage.backend=embedded,replicas=1,backup.enabled=true');
    expect([status, stderr]).toEqual([1, expect.stringContaining('kubectl exec (docs/backup.md)')]);
  });

  test.each(names)('%s: the doctor gets the flags of the server', (name) => {
    const objects = documents(read(golden, `${name}.yaml`)).filter((one) => !isUninstallCheck(one));
    const [serve, ...flags] = listOf(container(objects), 'args');
    expect(serve).toBe('serve');
    expect(listOf(container(objects, 'Pod'), 'args')).toEqual(['doctor', ...flags]);
  });

  test('the manifests are those of the default values; deleting them leaves the namespace with the Secret of MongoDB', () => {
    const reported = (object: JsonObject): string =>
      `${stringAt(object, 'kind') ?? ''}/${stringAt(objectAt(object, 'metadata'), 'name') ?? ''}`;
    const manifests = documents(read(root, 'manifests/annex.yaml'));
    const rendered = documents(read(golden, 'default.yaml')).filter(({ kind }) => kind !== 'Pod');
    expect(manifests.map(reported)).toEqual(rendered.map(reported));
    const spec = (objects: JsonObject[]): JsonValue | undefined => container(objects);
    expect(spec(manifests)).toEqual(spec(rendered));
  });

  test('on OpenShift pods are admitted by restricted-v2', () => {
    const objects = documents(read(golden, 'openshift.yaml'));
    for (const kind of ['Deployment', 'Pod']) {
      const pod = podSpec(objects, kind);
      expect(refusals(pod)).toEqual([]);
    }
    const usual = objectAt(objectAt(only(documents(read(golden, 'default.yaml')), 'Deployment'), 'spec'), 'template');
    // Proves that the check can fail: elsewhere the chart sets a user.
    expect(refusals(objectAt(usual, 'spec') ?? {})).toEqual(['runAsUser 65532', 'fsGroup 65532']);
  });

  test('the embedded store is in a volume that one pod at a time has', () => {
    const objects = documents(read(golden, 'embedded.yaml'));
    expect(objectAt(only(objects, 'Deployment'), 'spec')).toMatchObject({
      replicas: 1,
      strategy: { type: 'Recreate' },
    });
    expect(only(objects, 'PersistentVolumeClaim')).toMatchObject({
      metadata: { annotations: { 'helm.sh/resource-policy': 'keep' } },
    });
  });
});

// Only helm itself can test this; without it, the tests above read its recorded output.
(helm === undefined ? describe.skip : describe)('helm', () => {
  test('lint finds nothing', () => {
    const { status, stdout } = spawnSync(helm ?? '', ['lint', '--strict', chart], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  test.each(names)('template makes what is expected of %s', (name) => {
    const { stdout, stderr } = template('--values', join(chart, 'ci', `${name}-values.yaml`));
    expect(stderr).toBe('');
    expect(stdout).toBe(read(golden, `${name}.yaml`));
  });

  test('two releases share no object of the cluster, and the second one registers only groups of its own', () => {
    const render = (release: string, namespace: string, ...args: string[]): JsonObject[] =>
      documents(
        templateAs(release, '--namespace', namespace, '--set', 'adoption.groups={a.example.com}', ...args).stdout,
      );
    const second = render('second', 'other', '--set', 'registerDefinitions=false');
    const keys = (objects: JsonObject[]): string[] =>
      objects.map((object) => {
        const metadata = objectAt(object, 'metadata') ?? {};
        return `${textOf(object['kind'])} ${textOf(metadata['namespace'])}/${textOf(metadata['name'])}`;
      });
    const first = keys(render('annex', 'annex-system'));
    expect(first.length).toBeGreaterThan(10);
    expect(keys(second).filter((key) => first.includes(key))).toEqual([]);
    expect(container(second)['args']).toContain('--register-definitions=false');
    expect(container(second)['args']).toContain('--owner-cluster-role=second');
  });

  test('without RBAC there are no roles and bindings, and the command of the notes makes those of the default', () => {
    const isRbac = ({ apiVersion }: JsonObject): boolean => textOf(apiVersion).startsWith('rbac.authorization.k8s.io');
    const full = ['--values', join(chart, 'ci/full-values.yaml')];
    expect(documents(template(...full, '--set', 'rbac.create=false').stdout).filter(isRbac)).toEqual([]);
    const notes = read(chart, 'templates/NOTES.txt');
    const flags = /--set rbac.create=true,serviceAccount.create=false --show-only \S+rbac.yaml/.exec(notes)?.[0] ?? '';
    const metrics = / --show-only \S+metrics-reader.yaml/.exec(notes)?.[0] ?? '';
    const byHand = documents(template(...full, ...`${flags}${metrics}`.split(' ')).stdout);
    const expected = documents(template(...full).stdout).filter(isRbac);
    expect(expected.length).toBeGreaterThan(8);
    expect(byHand).toHaveLength(expected.length);
    expect(byHand).toEqual(expect.arrayContaining(expected));
  });

  test('alerts link to the pages of the version at the home of the chart, which a release names', () => {
    const copy = join(scratch, 'annex');
    cpSync(chart, copy, { recursive: true });
    appendFileSync(join(copy, 'Chart.yaml'), 'home: https://git.example.com/team/annex\n');
    const links = (...args: string[]): unknown[] => {
      const flags = [
        'template',
        'annex',
        copy,
        '--kube-version',
        '1.37.2',
        '--show-only',
        'templates/prometheusrule.yaml',
      ];
      const { stdout } = spawnSync(helm ?? '', [...flags, '--set', 'prometheusRule.enabled=true', ...args], {
        encoding: 'utf8',
      });
      return [...stdout.matchAll(/runbook_url: (\S+)/g)].map(([, url]) => url);
    };
    const pages = 'https://git.example.com/team/annex/blob/v0.1.0/docs/runbooks';
    expect(links()).toContain(`${pages}/AnnexDown.md`);
    expect(links('--set', 'prometheusRule.runbookUrl=https://a.example.com')).toContain(
      'https://a.example.com/AnnexDown.md',
    );
  });

  test('releases whose names differ in the last of 53 characters share no name', () => {
    const namesOf = (release: string): string[] =>
      documents(templateAs(release, '--values', join(chart, 'ci/full-values.yaml')).stdout)
        .filter((object) => stringAt(objectAt(object, 'metadata'), 'name') !== 'company-ca')
        .map((object) => `${stringAt(object, 'kind') ?? ''} ${stringAt(objectAt(object, 'metadata'), 'name') ?? ''}`);
    const one = namesOf(`${'r'.repeat(52)}1`);
    expect(one.length).toBeGreaterThan(15);
    expect(namesOf(`${'r'.repeat(52)}2`).filter((name) => one.includes(name))).toEqual([]);
  });

  test.each([
    ['two replicas of the embedded store', 'storage.backend=embedded', 'supports only one replica'],
    ['what the schema does', 'replicas=0', "at '/replicas': minimum: got 0, want 1"],
  ])('template refuses %s', (_, setting, message) => {
    const { status, stderr } = template('--set', setting);
    expect(status).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
