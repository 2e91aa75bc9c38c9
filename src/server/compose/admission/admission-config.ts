import { statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { goJson, quote } from '../../../apimachinery/meta/meta.js';
import {
  ConfigurationDecodeError,
  ConfigurationReader,
  decodeConfiguration,
  readConfiguration,
  typeMismatch,
  UnknownKindError,
  CONFIG_GROUP,
  isDecodeError,
} from '../../../apimachinery/yaml/configuration-file.js';
import { parseYaml } from '../../../apimachinery/yaml/yaml.js';
import type { ManifestPlugin } from '../../../registry/builtin/admissionregistration/manifests/manifest-kinds.js';
import { messageOf } from '../../../util/error-message.js';
import { featureGates } from '../../../util/feature-gates.js';
import { ADMISSION_PLUGINS } from '../../../admission/plugin-names.js';

/** An invalid configuration of admission plugins, with which the server does not start. */
class AdmissionConfigError extends Error {
  override readonly name = 'AdmissionConfigError';
}

export type WebhookPlugin = 'MutatingAdmissionWebhook' | 'ValidatingAdmissionWebhook';

export interface AdmissionConfig {
  /** The paths of the kubeconfigs with the credentials for calling webhooks. */
  readonly kubeconfigs: Readonly<Partial<Record<WebhookPlugin, string>>>;
  /** The folders with the configurations of plugins. */
  readonly manifests: ReadonlyMap<ManifestPlugin, string>;
  /** Configured plugins that Annex does not have. */
  readonly unused: readonly string[];
}

type ReadText = (path: string) => Promise<string>;

/** A file with one of these members configures a plugin that Annex does not have, in the format from before there were kinds. */
const LEGACY = ['imagePolicy', 'podNodeSelectorPluginConfig'];
const OTHER_KINDS: Readonly<Record<string, readonly string[]>> = {
  AuthenticationConfiguration: ['v1', 'v1beta1', 'v1alpha1'],
  AuthorizationConfiguration: ['v1', 'v1beta1', 'v1alpha1'],
  EncryptionConfiguration: ['v1'],
};
/** The configuration kinds of the plugins that read theirs. All other plugins ignore it, as in kube-apiserver. */
const KINDS: Readonly<Record<string, string>> = {
  MutatingAdmissionWebhook: 'WebhookAdmissionConfiguration',
  ValidatingAdmissionWebhook: 'WebhookAdmissionConfiguration',
  MutatingAdmissionPolicy: 'MutatingAdmissionPolicyConfiguration',
  ValidatingAdmissionPolicy: 'ValidatingAdmissionPolicyConfiguration',
};
const POLICY_KINDS = ['MutatingAdmissionPolicyConfiguration', 'ValidatingAdmissionPolicyConfiguration'];
const NEEDS_GATE = 'staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled';

/** Reads `--admission-control-config-file`. */
export async function loadAdmissionConfig(path: string, readText: ReadText): Promise<AdmissionConfig> {
  if (path === '') return { kubeconfigs: {}, manifests: new Map(), unused: [] };
  const plugins = await readFile(path, readText).catch((error: unknown) => {
    throw refusal('failed to read plugin config', error);
  });
  const kubeconfigs: Record<string, string> = {};
  const manifests = new Map<ManifestPlugin, string>();
  const unused: string[] = [];
  const seen = new Set<string>();
  for (const plugin of plugins) {
    const { name } = plugin;
    // The first entry of a plugin wins.
    if (seen.has(name)) continue;
    seen.add(name);
    const isHere = ADMISSION_PLUGINS.some((known) => known.name === name && known.here);
    if (!isHere) unused.push(name);
    const { kubeconfig, folder } = await settingsOf(plugin, dirname(path), readText).catch((error: unknown) => {
      throw refusal(`couldn't init admission plugin ${quote(name)}`, error);
    });
    if (kubeconfig !== '') kubeconfigs[name] = kubeconfig;
    if (folder !== '') manifests.set(name as ManifestPlugin, folder);
  }
  return { kubeconfigs, manifests, unused };
}

function refusal(what: string, error: unknown): unknown {
  const isKnown = isDecodeError(error) || error instanceof AdmissionConfigError;
  return isKnown ? new AdmissionConfigError(`${what}: ${error.message}`) : error;
}

async function readFile(path: string, readText: ReadText): Promise<readonly PluginConfiguration[]> {
  const text = await readText(path).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new AdmissionConfigError(`unable to read admission control configuration from ${quote(path)} [${why}]`);
  });
  try {
    return decodeConfiguration(text, fileReader, ` in '${text}'`);
  } catch (error) {
    if (error instanceof UnknownKindError && isLegacy(text)) return [];
    throw error;
  }
}

function isLegacy(text: string): boolean {
  const { value } = parseYaml(text);
  return isObject(value) && LEGACY.some((member) => member in value);
}

function fileReader(apiVersion: string, kind: string): FileReader | undefined {
  const [group = '', version = ''] = apiVersion.split('/');
  if (kind === 'AdmissionConfiguration') {
    const isKnown = apiVersion === `${CONFIG_GROUP}/v1` || apiVersion === 'apiserver.k8s.io/v1alpha1';
    return isKnown ? new FileReader(version) : undefined;
  }
  if (group !== CONFIG_GROUP || OTHER_KINDS[kind]?.includes(version) !== true) return undefined;
  throw new ConfigurationDecodeError(`unexpected type: *apiserver.${kind}`);
}

/** What the configuration of a plugin sets; '' is nothing. */
interface PluginSettings {
  readonly kubeconfig: string;
  readonly folder: string;
}

const NOTHING: PluginSettings = { kubeconfig: '', folder: '' };

async function settingsOf(
  { name, path, configuration }: PluginConfiguration,
  directory: string,
  readText: ReadText,
): Promise<PluginSettings> {
  const given = configuration ?? null;
  if (given === null && path === '') return NOTHING;
  if (name === 'ResourceQuota') throw new AdmissionConfigError('limited resources are not supported');
  const expected = KINDS[name];
  if (expected === undefined) return NOTHING;
  const readerOf = (apiVersion: string, kind: string): PluginReader | undefined => {
    if (apiVersion !== `${CONFIG_GROUP}/v1`) return undefined;
    if (kind === expected) return new PluginReader(kind);
    // The two policy kinds share a scheme.
    if (!POLICY_KINDS.includes(expected) || !POLICY_KINDS.includes(kind)) return undefined;
    throw new ConfigurationDecodeError(`unexpected type: *policyconfig.${kind}`);
  };
  if (given !== null) return readConfiguration(given, readerOf, ` in '${goJson(given)}'`);
  const text = await readText(isAbsolute(path) ? path : join(directory, path));
  return decodeConfiguration(text, readerOf, ` in '${text}'`);
}

/** An entry of an AdmissionConfiguration. */
interface PluginConfiguration {
  readonly name: string;
  readonly path: string;
  readonly configuration: JsonValue | undefined;
}

/** Reads an AdmissionConfiguration. */
class FileReader extends ConfigurationReader {
  constructor(private readonly version: string) {
    super();
  }

  configuration(root: JsonObject): readonly PluginConfiguration[] {
    const type = `${this.version}.AdmissionPluginConfiguration`;
    const plugins = root['plugins'] ?? [];
    const field = 'AdmissionConfiguration.plugins';
    if (!Array.isArray(plugins)) throw typeMismatch(plugins, field, `[]${type}`);
    this.recordUnknownFields(root, ['apiVersion', 'kind', 'plugins'], '');
    return plugins.map((item, i) => {
      const plugin = item ?? {};
      if (!isObject(plugin)) throw typeMismatch(plugin, field, type);
      this.recordUnknownFields(plugin, ['name', 'path', 'configuration'], `plugins[${i}]`);
      const of = 'AdmissionPluginConfiguration.plugins';
      return {
        name: this.text(plugin['name'], `${of}.name`) ?? '',
        path: this.text(plugin['path'], `${of}.path`) ?? '',
        configuration: plugin['configuration'],
      };
    });
  }
}

/** Reads the configuration of a plugin. Only webhook plugins have a kubeconfig. */
class PluginReader extends ConfigurationReader {
  constructor(private readonly kind: string) {
    super();
  }

  configuration(root: JsonObject): PluginSettings {
    const isWebhook = this.kind === 'WebhookAdmissionConfiguration';
    const type = isWebhook ? 'WebhookAdmission' : this.kind;
    const file = (isWebhook ? this.text(root['kubeConfigFile'], `${type}.kubeConfigFile`) : undefined) ?? '';
    const folder = this.text(root['staticManifestsDir'], `${type}.staticManifestsDir`) ?? '';
    const own = isWebhook ? ['kubeConfigFile', 'staticManifestsDir'] : ['staticManifestsDir'];
    this.recordUnknownFields(root, ['apiVersion', 'kind', ...own], '');
    // Values are validated only if all fields are known.
    if (this.unknown.length > 0) return NOTHING;
    if (file !== '' && !isAbsolute(file)) {
      throw new ConfigurationDecodeError(
        `kubeConfigFile: Invalid value: ${quote(file)}: must be an absolute file path`,
      );
    }
    if (folder !== '') checkFolder(folder);
    return { kubeconfig: file, folder };
  }
}

function checkFolder(folder: string): void {
  if (!featureGates.enabled('ManifestBasedAdmissionControlConfig'))
    throw new ConfigurationDecodeError(`staticManifestsDir: Forbidden: ${NEEDS_GATE}`);
  const refuse = (why: string): never => {
    throw new ConfigurationDecodeError(`staticManifestsDir: Invalid value: ${quote(folder)}: ${why}`);
  };
  if (!isAbsolute(folder)) refuse('must be an absolute file path');
  try {
    if (!statSync(folder).isDirectory()) refuse('must be a directory');
  } catch (error) {
    if (error instanceof ConfigurationDecodeError) throw error;
    refuse(`unable to read: ${messageOf(error)}`);
  }
}
