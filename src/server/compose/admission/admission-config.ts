import { dirname, isAbsolute, join } from 'node:path';
import { JsonError } from '../../../apimachinery/json/decode.js';
import { isObject, type JsonObject, objectAt, stringAt } from '../../../apimachinery/json/json.js';
import { objectsOf } from '../../../apimachinery/json/values.js';
import { kindNotRegistered, quote } from '../../../apimachinery/meta/meta.js';
import { parseYaml } from '../../../apimachinery/yaml/yaml.js';
import { ADMISSION_PLUGINS } from '../../../admission/plugin-names.js';

/** A configuration of admission plugins that cannot be used; the server does not start with it. */
class AdmissionConfigError extends Error {
  override readonly name = 'AdmissionConfigError';
}

export type WebhookPlugin = 'MutatingAdmissionWebhook' | 'ValidatingAdmissionWebhook';

export interface AdmissionConfig {
  /** The kubeconfig with the users who call webhooks. */
  readonly kubeconfigs: Readonly<Partial<Record<WebhookPlugin, string>>>;
  /** Configured plugins that do not exist here. */
  readonly unused: readonly string[];
}

type ReadText = (path: string) => Promise<string>;

const FILE_KINDS = new Set([
  'apiserver.config.k8s.io/v1 AdmissionConfiguration',
  'apiserver.k8s.io/v1alpha1 AdmissionConfiguration',
]);
const WEBHOOK_KINDS = new Set([
  'apiserver.config.k8s.io/v1 WebhookAdmissionConfiguration',
  'apiserver.config.k8s.io/v1alpha1 WebhookAdmission',
]);
const WEBHOOK_PLUGINS: ReadonlySet<string> = new Set(['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook']);
const META = ['apiVersion', 'kind'];

/** Reads `--admission-control-config-file`. */
export async function loadAdmissionConfig(path: string, readText: ReadText): Promise<AdmissionConfig> {
  if (path === '') return { kubeconfigs: {}, unused: [] };
  const text = await readText(path).catch((error: unknown) => {
    throw new AdmissionConfigError(
      `unable to read admission control configuration from ${quote(path)} [${error instanceof Error ? error.message : String(error)}]`,
    );
  });
  const file = decode(text, FILE_KINDS, [...META, 'plugins']);
  const kubeconfigs: Partial<Record<WebhookPlugin, string>> = {};
  const unused: string[] = [];
  for (const plugin of objectsOf(file['plugins'])) {
    checkFields(plugin, ['name', 'path', 'configuration']);
    const name = stringAt(plugin, 'name') ?? '';
    if (!WEBHOOK_PLUGINS.has(name)) {
      if (ADMISSION_PLUGINS.some((known) => known.name === name && known.here)) {
        throw new AdmissionConfigError(`the admission plugin ${name} takes no configuration`);
      }
      unused.push(name);
      continue;
    }
    const kubeconfig = await kubeconfigOf(plugin, dirname(path), readText);
    if (kubeconfig !== '') kubeconfigs[name as WebhookPlugin] ??= kubeconfig;
  }
  return { kubeconfigs, unused };
}

async function kubeconfigOf(plugin: JsonObject, directory: string, readText: ReadText): Promise<string> {
  const path = stringAt(plugin, 'path') ?? '';
  let configuration = objectAt(plugin, 'configuration');
  if (configuration === undefined) {
    if (path === '') return '';
    configuration = decode(await readText(isAbsolute(path) ? path : join(directory, path)), WEBHOOK_KINDS, [
      ...META,
      'kubeConfigFile',
    ]);
  } else {
    checkKind(configuration, WEBHOOK_KINDS, JSON.stringify(configuration));
    checkFields(configuration, [...META, 'kubeConfigFile']);
  }
  const file = stringAt(configuration, 'kubeConfigFile') ?? '';
  if (file !== '' && !isAbsolute(file)) {
    throw new AdmissionConfigError(`kubeConfigFile: Invalid value: ${quote(file)}: must be an absolute file path`);
  }
  return file;
}

function decode(text: string, kinds: ReadonlySet<string>, fields: readonly string[]): JsonObject {
  try {
    const { value } = parseYaml(text);
    const object = isObject(value) ? value : {};
    checkKind(object, kinds, text);
    checkFields(object, fields);
    return object;
  } catch (error) {
    if (error instanceof JsonError) throw new AdmissionConfigError(error.message);
    throw error;
  }
}

function checkKind(object: JsonObject, kinds: ReadonlySet<string>, text: string): void {
  const kind = stringAt(object, 'kind') ?? '';
  const apiVersion = stringAt(object, 'apiVersion') ?? '';
  if (kind === '') throw new AdmissionConfigError(`Object 'Kind' is missing in '${text}'`);
  if (!kinds.has(`${apiVersion} ${kind}`)) throw new AdmissionConfigError(kindNotRegistered(apiVersion, kind));
}

function checkFields(object: JsonObject, known: readonly string[]): void {
  const unknown = Object.keys(object).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  throw new AdmissionConfigError(
    `strict decoding error: ${unknown.map((key) => `unknown field ${quote(key)}`).join(', ')}`,
  );
}
