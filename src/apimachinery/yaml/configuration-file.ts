import { GO_TYPE_META, goKind, JsonError, UNREADABLE_TYPE } from '../json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../json/json.js';
import { compareUtf8, kindNotRegistered, quote } from '../meta/meta.js';
import { parseYaml } from './yaml.js';

/** A configuration file that cannot be decoded, in the words of Go's strict decoder. */
export class ConfigurationDecodeError extends Error {}

/** A configuration that does not state its kind, or whose kind is unknown. */
export class UnknownKindError extends ConfigurationDecodeError {}

/** Reports whether a file cannot be decoded. */
export const isDecodeError = (error: unknown): error is Error =>
  error instanceof ConfigurationDecodeError || error instanceof JsonError;

/** The group of kube-apiserver's configuration files. */
export const CONFIG_GROUP = 'apiserver.config.k8s.io';

const CONFIG_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];

/** Returns the version in the apiVersion of a configuration file; undefined if there is no such version of its group. */
export const configVersionOf = (apiVersion: string): string | undefined =>
  CONFIG_VERSIONS.find((version) => apiVersion === `${CONFIG_GROUP}/${version}`);

/** Reads a decoded file, checks its types, and records unknown fields. */
export class ConfigurationReader {
  readonly unknown: string[] = [];

  /** Records unknown keys in sorted order, as in JSON made from YAML. */
  protected recordUnknownFields(object: JsonObject, known: readonly string[], path: string): void {
    const others = Object.keys(object).filter((key) => !known.includes(key));
    for (const key of others.sort(compareUtf8)) this.unknown.push(path === '' ? key : `${path}.${key}`);
  }

  protected object(value: JsonValue | undefined, path: string): JsonObject {
    if (value === undefined || value === null) return {};
    if (!isObject(value)) throw typeMismatch(value, path, 'object');
    return value;
  }

  /** Returns a string; undefined if it is absent. */
  protected text(value: JsonValue | undefined, field: string): string | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') throw typeMismatch(value, field, 'string');
    return value;
  }

  /** Returns a boolean; undefined if it is absent. */
  protected flag(value: JsonValue | undefined, field: string): boolean | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'boolean') throw typeMismatch(value, field, 'bool');
    return value;
  }

  protected list(value: JsonValue | undefined, path: string): readonly JsonValue[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw typeMismatch(value, path, 'list');
    return value;
  }
}

interface Reads<T> {
  /** Throws ConfigurationDecodeError if a value has the wrong type. */
  configuration(root: JsonObject): T;
}

/** The type of a file that does not state it. A string means that such a file is an error, and is appended to the message. */
type DefaultType = { readonly apiVersion: string; readonly kind: string } | string;

type ReaderOf<T> = (apiVersion: string, kind: string) => (ConfigurationReader & Reads<T>) | undefined;

/**
 * Decodes the text of a configuration file, YAML or JSON, strictly. `readerOf` returns the reader for the stated type, if any.
 * Throws ConfigurationDecodeError and JsonError.
 */
export function decodeConfiguration<T>(text: string, readerOf: ReaderOf<T>, defaultType: DefaultType = ''): T {
  const { value, duplicates } = parseYaml(text);
  return readConfiguration(value, readerOf, defaultType, duplicates);
}

/** Reads a configuration within another file. Throws ConfigurationDecodeError. */
export function readConfiguration<T>(
  value: JsonValue,
  readerOf: ReaderOf<T>,
  defaultType: DefaultType,
  duplicates: readonly string[] = [],
): T {
  const root = rootOf(value);
  let kind = typeMember(root, 'kind');
  let apiVersion = typeMember(root, 'apiVersion');
  if (typeof defaultType === 'string') {
    if (kind === '') throw new UnknownKindError(`Object 'Kind' is missing${defaultType}`);
    if (apiVersion === '') throw new UnknownKindError(`Object 'apiVersion' is missing${defaultType}`);
  } else {
    if (kind === '') ({ kind } = defaultType);
    if (apiVersion === '') ({ apiVersion } = defaultType);
  }
  const reader = readerOf(apiVersion, kind);
  if (reader === undefined) throw new UnknownKindError(kindNotRegistered(apiVersion, kind));
  const configuration = reader.configuration(root);
  const strict = [...duplicates, ...reader.unknown.map((path) => `unknown field ${quote(path)}`)];
  if (strict.length > 0) throw new ConfigurationDecodeError(`strict decoding error: ${strict.join(', ')}`);
  return configuration;
}

function rootOf(value: JsonValue): JsonObject {
  if (value === null) return {};
  if (isObject(value)) return value;
  throw new ConfigurationDecodeError(`${UNREADABLE_TYPE} ${goKind(value)} into Go value of type ${GO_TYPE_META}`);
}

function typeMember(root: JsonObject, key: 'apiVersion' | 'kind'): string {
  const value = root[key] ?? '';
  if (typeof value === 'string') return value;
  throw new ConfigurationDecodeError(`${UNREADABLE_TYPE} ${goKind(value)} into Go struct field .${key} of type string`);
}

/** Returns the error for a value whose type is not that of its field. */
export const typeMismatch = (value: JsonValue, field: string, type: string): ConfigurationDecodeError =>
  new ConfigurationDecodeError(`json: cannot unmarshal ${goKind(value)} into Go struct field ${field} of type ${type}`);
