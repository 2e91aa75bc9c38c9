import { goKind } from '../json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../json/json.js';
import { compareUtf8, kindNotRegistered, quote } from '../meta/meta.js';
import { parseYaml } from './yaml.js';

/** A configuration file that cannot be decoded, in the words of Go's strict decoder. */
export class ConfigurationDecodeError extends Error {}

/** A configuration that does not say what it is, or is of a kind that is not known. */
export class UnknownKindError extends ConfigurationDecodeError {}

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

  /** Undefined where it is absent. */
  protected text(value: JsonValue | undefined, field: string): string | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') throw typeMismatch(value, field, 'string');
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

type ReaderOf<T> = (apiVersion: string, kind: string) => (ConfigurationReader & Reads<T>) | undefined;

/**
 * Decodes the text of a configuration file, YAML or JSON, strictly. `readerOf` has a reader for what the file says it is, or
 * none. Throws ConfigurationDecodeError and JsonError.
 */
export function decodeConfiguration<T>(text: string, readerOf: ReaderOf<T>, unsaid: Unsaid = ''): T {
  const { value, duplicates } = parseYaml(text);
  return readConfiguration(value, readerOf, unsaid, duplicates);
}

/** Reads a configuration that stands in another file. Throws ConfigurationDecodeError. */
export function readConfiguration<T>(
  value: JsonValue,
  readerOf: ReaderOf<T>,
  unsaid: Unsaid,
  duplicates: readonly string[] = [],
): T {
  const root = rootOf(value);
  let kind = typeMember(root, 'kind');
  let apiVersion = typeMember(root, 'apiVersion');
  if (typeof unsaid === 'string') {
    if (kind === '') throw new UnknownKindError(`Object 'Kind' is missing${unsaid}`);
    if (apiVersion === '') throw new UnknownKindError(`Object 'apiVersion' is missing${unsaid}`);
  } else {
    if (kind === '') ({ kind } = unsaid);
    if (apiVersion === '') ({ apiVersion } = unsaid);
  }
  const reader = readerOf(apiVersion, kind);
  if (reader === undefined) throw new UnknownKindError(kindNotRegistered(apiVersion, kind));
  const configuration = reader.configuration(root);
  const strict = [...duplicates, ...reader.unknown.map((path) => `unknown field ${quote(path)}`)];
  if (strict.length > 0) throw new ConfigurationDecodeError(`strict decoding error: ${strict.join(', ')}`);
  return configuration;
}

const UNREADABLE = "couldn't get version/kind; json parse error: json: cannot unmarshal";
/** What Go prints of the type that it looks for version and kind with. */
const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

function rootOf(value: JsonValue): JsonObject {
  if (value === null) return {};
  if (isObject(value)) return value;
  throw new ConfigurationDecodeError(`${UNREADABLE} ${goKind(value)} into Go value of type ${TYPE_META}`);
}

function typeMember(root: JsonObject, key: 'apiVersion' | 'kind'): string {
  const value = root[key] ?? '';
  if (typeof value === 'string') return value;
  throw new ConfigurationDecodeError(`${UNREADABLE} ${goKind(value)} into Go struct field .${key} of type string`);
}

/** A value of another type than its field takes. */
export const typeMismatch = (value: JsonValue, field: string, type: string): ConfigurationDecodeError =>
  new ConfigurationDecodeError(`json: cannot unmarshal ${goKind(value)} into Go struct field ${field} of type ${type}`);
