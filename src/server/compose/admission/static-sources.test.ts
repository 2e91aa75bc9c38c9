import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import type { ManifestPlugin } from '../../../registry/builtin/admissionregistration/manifests/manifest-kinds.js';
import { messageOf } from '../../../util/error-message.js';
import type { Logger } from '../../../util/logger.js';
import { loadAdmissionConfig } from './admission-config.js';
import { staticSources } from './static-sources.js';

interface Start {
  readonly name: string;
  readonly plugin: ManifestPlugin;
  readonly files?: Readonly<Record<string, string>>;
  readonly folder?: 'missing' | 'relative' | 'file';
  /** The message with which kube-apiserver ends; null if it starts. */
  readonly error: string | null;
}

const STARTS = JSON.parse(
  readFileSync(join(__dirname, '../../../../test/fixtures/static-manifests/starts.json'), 'utf8'),
) as readonly Start[];

let scratch: string;
let ended: AbortController;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'annex-manifests-'));
  ended = new AbortController();
});
afterEach(() => {
  ended.abort();
  rmSync(scratch, { recursive: true });
});

function setUp() {
  const lines: string[] = [];
  const note = (text: string, more?: object): void => void lines.push(`${text} ${JSON.stringify(more)}`);
  const logger = { info: note, error: note } as unknown as Logger;
  const registry = new Registry();
  const clock = new FakeClock();
  const flags = { enableAdmissionPlugins: [], disableAdmissionPlugins: [] };
  const load = (folders: ReadonlyMap<ManifestPlugin, string>, disabled: string[] = []) =>
    staticSources(
      { folders, flags: { ...flags, disableAdmissionPlugins: disabled }, clock, logger, registry },
      ended.signal,
    );
  return { lines, registry, clock, load };
}

function configurationOf(plugin: ManifestPlugin, folder: string): string {
  const kind = plugin.endsWith('Webhook') ? 'WebhookAdmissionConfiguration' : `${plugin}Configuration`;
  return `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ${plugin}
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: ${kind}, staticManifestsDir: ${folder}}
`;
}

/** Returns the error of the start, or null, as recorded. */
async function start({ plugin, files, folder: given }: Start): Promise<string | null> {
  const path = join(scratch, 'manifests');
  if (files !== undefined) mkdirSync(path);
  else if (given === 'file') writeFileSync(path, '');
  for (const [name, text] of Object.entries(files ?? {})) writeFileSync(join(path, name), text);
  const folder = given === 'relative' ? 'manifests' : path;
  try {
    const { manifests } = await loadAdmissionConfig('/admission.yaml', () =>
      Promise.resolve(configurationOf(plugin, folder)),
    );
    await setUp().load(manifests);
    return null;
  } catch (error) {
    return `failed to apply admission: ${messageOf(error)}`.replaceAll(folder, '<folder>');
  }
}

test.each(STARTS)('$plugin: $name', async (recorded) => {
  expect(await start(recorded)).toBe(recorded.error);
});

const policy = (name: string, expression = 'true'): string =>
  JSON.stringify({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      },
      validations: [{ expression }],
    },
  });

test('changed files replace the configurations; files that cannot be used change nothing', async () => {
  const { lines, registry, clock, load } = setUp();
  writeFileSync(join(scratch, 'a.yaml'), policy('a.static.k8s.io'));
  const { validatingPolicies } = await load(new Map([['ValidatingAdmissionPolicy', scratch]]));
  const names = (): unknown[] => (validatingPolicies?.objects() ?? []).map(({ metadata }) => metadata.name);
  const metric = async (name: string): Promise<string[]> =>
    (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith(`apiserver_manifest_admission_config_controller_${name}{`))
      .map((line) => line.replace(/,?apiserver_id_hash="[^"]*"/, ''));
  /** Whether the watch notices a change is up to the system; the check of every minute does. */
  const check = async (done: () => boolean): Promise<void> => {
    for (let i = 0; i < 500 && !done(); i++) {
      clock.advance(60_000);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  expect(names()).toEqual(['a.static.k8s.io']);
  expect(await metric('automatic_reloads_total')).toEqual([expect.stringMatching(/status="success".* 1$/)]);
  const [first] = await metric('last_config_info');
  expect(first).toMatch(/plugin="ValidatingAdmissionPolicy".*hash="sha256:[0-9a-f]{64}".* 1$/);

  const { generation = 0 } = validatingPolicies ?? {};
  writeFileSync(join(scratch, 'b.new'), policy('b.static.k8s.io'));
  renameSync(join(scratch, 'b.new'), join(scratch, 'b.yaml'));
  await check(() => names().length > 1);
  expect(names()).toEqual(['a.static.k8s.io', 'b.static.k8s.io']);
  expect(validatingPolicies?.generation).toBeGreaterThan(generation);
  expect(await metric('last_config_info')).toEqual([expect.not.stringMatching(first ?? '')]);

  writeFileSync(join(scratch, 'b.yaml'), policy('b'));
  await check(() => lines.some((line) => line.includes('must have a name ending')));
  expect(names()).toEqual(['a.static.k8s.io', 'b.static.k8s.io']);
  expect((await metric('automatic_reloads_total')).some((line) => line.includes('status="failure"'))).toBe(true);

  rmSync(join(scratch, 'b.yaml'));
  rmSync(join(scratch, 'a.yaml'));
  await check(() => names().length === 0);
  expect(names()).toEqual([]);
  expect(await metric('last_config_info')).toEqual([expect.stringContaining('hash=""')]);
});

test('the folder of a plugin that is disabled is not read', async () => {
  writeFileSync(join(scratch, 'a.yaml'), 'x: [');
  const folders = new Map<ManifestPlugin, string>([['ValidatingAdmissionPolicy', scratch]]);
  expect(await setUp().load(folders, ['ValidatingAdmissionPolicy'])).toEqual({});
  await expect(setUp().load(folders)).rejects.toThrow('failed to initialize admission plugin');
});
