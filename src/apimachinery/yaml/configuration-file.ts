import { goKind } from '../json/decode.js';
import { isObject, stringAt, type JsonObject, type JsonValue } from '../json/json.js';
import { compareUtf8, kindNotRegistered, quote } from '../meta/meta.js';
import { parseYaml } from './yaml.js';

/** A configuration file that cannot be decoded, in the words of Go's strict decoder. */
export class ConfigurationDecodeError extends Error {}

/** Goes through a decoded file, types checked, and notes what no field takes. */
export class ConfigurationReader {
  readonly unknown: string[] = [];

  /** Keys in their order in JSON made from YAML: sorted. */
  protected refuseOthers(object: JsonObject, known: readonly string[], path: string): void {
    const others = Object.keys(object).filter((key) => !known.includes(key));
    for (const key of others.sort(compareUtf8)) this.unknown.push(path === '' ? key : `${path}.${key}`);
  }

  protected object(value: JsonValue | undefined, path: string): JsonObject {
    if (value === undefined || value === null) return {};
    if (!isObject(value)) throw typeMismatch(value, path, 'object');
    return value;
  }

  protected list(value: JsonValue | undefined, path: string): readonly JsonValue[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw typeMismatch(value, path, 'list');
    return value;
  }
}

interface Reads<T> {
  /** Throws ConfigurationDecodeError where a value has the wrong type. */
  configuration(root: JsonObject): T;
}

/** What a file is that does not say it: this, or nothing that can be read; `missing` follows that message. */
type Unsaid = { readonly apiVersion: string; readonly kind: string } | string;

/**
 * Decodes the text of a configuration file, YAML or JSON, strictly. `readerOf` has a reader for what the file says it is, or
 * none. Throws ConfigurationDecodeError and JsonError.
 */
export function decodeConfiguration<T>(
  text: string,
  readerOf: (apiVersion: string, kind: string) => (ConfigurationReader & Reads<T>) | undefined,
  unsaid: Unsaid = '',
): T {
  const { value, duplicates } = parseYaml(text);
  const root = isObject(value) ? value : {};
  let kind = stringAt(root, 'kind') ?? '';
  let apiVersion = stringAt(root, 'apiVersion') ?? '';
  if (typeof unsaid === 'string') {
    if (kind === '') throw new ConfigurationDecodeError(`Object 'Kind' is missing${unsaid}`);
    if (apiVersion === '') throw new ConfigurationDecodeError(`Object 'apiVersion' is missing${unsaid}`);
  } else {
    if (kind === '') ({ kind } = unsaid);
    if (apiVersion === '') ({ apiVersion } = unsaid);
  }
  const reader = readerOf(apiVersion, kind);
  if (reader === undefined) throw new ConfigurationDecodeError(kindNotRegistered(apiVersion, kind));
  const configuration = reader.configuration(root);
  const strict = [...duplicates, ...reader.unknown.map((path) => `unknown field ${quote(path)}`)];
  if (strict.length > 0) throw new ConfigurationDecodeError(`strict decoding error: ${strict.join(', ')}`);
  return configuration;
}

/** A value of another type than its field takes. */
export const typeMismatch = (value: JsonValue, field: string, type: string): ConfigurationDecodeError =>
  new ConfigurationDecodeError(`json: cannot unmarshal ${goKind(value)} into Go struct field ${field} of type ${type}`);
