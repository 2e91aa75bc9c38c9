import { decodeDetailed, goKind, JsonError } from '../json/decode.js';
import { NumberRangeError } from '../json/syntax.js';
import { newBadRequest, newRequestEntityTooLarge } from '../meta/errors.js';
import { isObject, type JsonObject, type JsonValue, stringifyJson } from '../json/json.js';
import type { Parts } from '../json/parser.js';
import { quote } from '../meta/meta.js';
import { unprocessable } from './errors.js';
import { Literals } from './literals.js';

export const MAX_JSON_PATCH_OPERATIONS = 10000;

/** Bytes by which all copy operations of a patch together may grow an object, by default. */
export const MAX_COPY_BYTES = 3 * 1024 * 1024;

export interface DecodedPatch<T> {
  readonly patch: T;
  /** `json patch unknown field "[0].foo"`. Empty unless asked for. */
  readonly strictErrors: readonly string[];
  /** Of a JSON patch that was asked for them: the objects of the patch in which a key stands twice. */
  readonly parts?: Parts | undefined;
}

/** A patch that takes texts over as they are. */
export interface TextPatch<T> extends DecodedPatch<T> {
  readonly literals: Literals;
}

/** An operation, its fields unchecked: what is wrong with it shows when it is carried out. */
export type JsonPatchOperation = JsonObject;

const TEXTS = ['op', 'path', 'from'];
const FIELDS = new Set([...TEXTS, 'value']);

/** Reads a JSON patch. Throws ApiError; the text of objections depends on `strict` (fieldValidation Warn or Strict). */
export function decodeJsonPatch(body: Uint8Array | string, strict: boolean): TextPatch<readonly JsonPatchOperation[]> {
  const prefix = strict ? 'error decoding patch: ' : '';
  const listType = strict ? '[]handlers.jsonPatchOp' : 'jsonpatch.Patch';
  const itemType = strict ? 'handlers.jsonPatchOp' : 'jsonpatch.Operation';
  const refuse = (text: string): never => {
    throw newBadRequest(prefix + text);
  };
  const mismatch = (value: JsonValue, type: string): never =>
    refuse(`json: cannot unmarshal ${goKind(value)} into Go value of type ${type}`);
  const literals = new Literals(true);
  const { duplicates, source, ...decoded } = decode(body, strict, literals, refuse);
  // The same value, but its objects are the ones of which the parts are known.
  const value = source?.value ?? decoded.value;
  if (value === null) return { patch: [], strictErrors: [], literals };
  if (!Array.isArray(value)) return mismatch(value, listType);
  const known = duplicates.filter((path) => FIELDS.has(/^\[\d+\]\.(\w*)/.exec(path)?.[1] ?? ''));
  const strictErrors = known.map((path) => `json patch duplicate field ${quote(path)}`);
  const operations = value.map((item, i) => {
    if (item === null) return {};
    if (!isObject(item)) return mismatch(literals.read(item) ?? null, itemType);
    for (const field of TEXTS) if (Object.hasOwn(item, field)) item[field] = literals.read(item[field]);
    if (strict) checkFields(item, i, strictErrors, refuse);
    return item;
  });
  if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
    throw newRequestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${String(MAX_JSON_PATCH_OPERATIONS)}, got ${String(operations.length)}`,
    );
  }
  // In the order of the operations, as one pass over the text finds them.
  if (strictErrors.length > 1) strictErrors.sort((a, b) => operationOf(a) - operationOf(b));
  return { patch: operations, strictErrors, literals, parts: source?.parts };
}

function decode(
  body: Uint8Array | string,
  strict: boolean,
  literals: Literals,
  refuse: (text: string) => never,
): ReturnType<typeof decodeDetailed> {
  try {
    return decodeDetailed(body, strict, false, literals);
  } catch (error) {
    // Strictly read, numbers are known to be a value.
    if (strict && error instanceof NumberRangeError)
      return refuse(new NumberRangeError(error.literal, 'struct field jsonPatchOp.value').message);
    if (error instanceof JsonError) return refuse(error.message);
    throw error;
  }
}

const operationOf = (error: string): number => Number(/"\[(\d+)\]/.exec(error)?.[1] ?? 0);

function checkFields(item: JsonObject, i: number, errors: string[], refuse: (text: string) => never): void {
  for (const key in item) {
    const value = item[key];
    if (!FIELDS.has(key)) errors.push(`json patch unknown field ${quote(`[${String(i)}].${key}`)}`);
    else if (key !== 'value' && typeof value !== 'string' && value !== null) {
      refuse(`json: cannot unmarshal ${goKind(value)} into Go struct field jsonPatchOp.${key} of type string`);
    }
  }
}

/** Why an operation could not be carried out. Clients only learn that one could not. */
class Inapplicable extends Error {}

const INDEX = /^[-+]?[0-9]{1,15}$/;

function index(key: string, length: number, insert: boolean): number {
  if (!INDEX.test(key)) throw new Inapplicable(`not an index: ${quote(key)}`);
  const given = Number(key);
  const limit = insert ? length + 1 : length;
  // Negative indices count from the end.
  const at = given < 0 ? given + limit : given;
  if (at < 0 || at >= limit) throw new Inapplicable(`Unable to access invalid index: ${key}`);
  return at;
}

type Container = JsonObject | JsonValue[];

const isContainer = (value: JsonValue | undefined): value is Container => typeof value === 'object' && value !== null;

const decodeToken = (token: string): string => token.replace(/~1/g, '/').replace(/~0/g, '~');

class Patcher {
  /** Containers that this patch made itself, and so may change. */
  private readonly own = new Set<Container>();
  private copied = 0;

  constructor(
    private root: Container,
    private readonly maxCopyBytes: number,
  ) {
    this.root = this.writable(root);
  }

  result(): JsonValue {
    return this.root;
  }

  run(operation: JsonPatchOperation): void {
    switch (operation['op']) {
      case 'add':
        this.add(this.text(operation, 'path'), valueOf(operation));
        break;
      case 'remove':
        this.remove(this.text(operation, 'path'));
        break;
      case 'replace':
        this.replace(this.text(operation, 'path'), operation);
        break;
      case 'move': {
        const from = this.text(operation, 'from');
        const value = this.get(from);
        this.remove(from);
        this.add(this.text(operation, 'path'), value ?? null);
        break;
      }
      case 'test':
        this.test(this.text(operation, 'path'), operation);
        break;
      case 'copy':
        this.copy(this.text(operation, 'from'), this.text(operation, 'path'));
        break;
      default:
        throw new Inapplicable('Unexpected kind');
    }
  }

  private text(operation: JsonPatchOperation, field: string): string {
    const value = operation[field];
    if (typeof value !== 'string') throw new Inapplicable(`operation missing ${field} field`);
    return value;
  }

  private writable<T extends Container>(container: T): T {
    if (this.own.has(container)) return container;
    const copy = (Array.isArray(container) ? [...container] : Object.assign({}, container)) as T;
    this.own.add(copy);
    return copy;
  }

  /**
   * The container that a path's last token stands in, and that token. What stands before the first slash is ignored. Also
   * what is only looked at becomes the patch's own: kube-apiserver shows it in another order than what no path leads through.
   */
  private find(path: string): [Container, string] {
    const tokens = path.split('/').map(decodeToken);
    const key = tokens.pop();
    if (tokens.length === 0 || key === undefined) throw new Inapplicable(`doc is missing path: ${quote(path)}`);
    let current = this.root;
    for (const token of tokens.slice(1)) {
      const at = Array.isArray(current) ? index(token, current.length, false) : token;
      const next = (current as JsonObject)[at];
      if (!isContainer(next) || (typeof at === 'string' && !Object.hasOwn(current, at))) {
        throw new Inapplicable(`doc is missing path: ${quote(path)}`);
      }
      const child = this.writable(next);
      (current as JsonObject)[at] = child;
      current = child;
    }
    return [current, key];
  }

  /** Undefined where an object lacks the key; an array must have the index. */
  private get(path: string): JsonValue | undefined {
    const [container, key] = this.find(path);
    if (Array.isArray(container)) return container[index(key, container.length, false)];
    return Object.hasOwn(container, key) ? container[key] : undefined;
  }

  private add(path: string, value: JsonValue): void {
    const [container, key] = this.find(path);
    if (!Array.isArray(container)) container[key] = value;
    else if (key === '-') container.push(value);
    else container.splice(index(key, container.length, true), 0, value);
  }

  private remove(path: string): void {
    const [container, key] = this.find(path);
    if (Array.isArray(container)) container.splice(index(key, container.length, false), 1);
    else if (!Object.hasOwn(container, key)) throw new Inapplicable(`Unable to remove nonexistent key: ${key}`);
    else delete container[key];
  }

  /** An object need not have the key that is replaced, as in kube-apiserver. */
  private replace(path: string, operation: JsonPatchOperation): void {
    const value = valueOf(operation);
    if (path === '') {
      if (!isContainer(value)) throw new Inapplicable('replace operation value must be object or array');
      this.root = this.writable(value);
      return;
    }
    const [container, key] = this.find(path);
    if (Array.isArray(container)) container[index(key, container.length, false)] = value;
    else container[key] = value;
  }

  private test(path: string, operation: JsonPatchOperation): void {
    const expected = operation['value'];
    const actual = path === '' ? this.root : this.get(path);
    if (!testEqual(actual, expected)) throw new Inapplicable(`testing value ${path} failed`);
    if (path === '' || !isContainer(actual)) return;
    const [container, key] = this.find(path);
    (container as JsonObject)[Array.isArray(container) ? index(key, container.length, false) : key] =
      this.allWritable(actual);
  }

  /** A container with everything in it, as the patch's own. */
  private allWritable(container: Container): Container {
    const own = this.writable(container);
    for (const [key, value] of Object.entries(own)) {
      if (isContainer(value)) (own as JsonObject)[key] = this.allWritable(value);
    }
    return own;
  }

  /** The value as it is now, whatever becomes of the patch's own parts of it. */
  private snapshot(value: JsonValue): JsonValue {
    if (!isContainer(value) || !this.own.has(value)) return value;
    if (Array.isArray(value)) return value.map((item) => this.snapshot(item));
    const copy: JsonObject = {};
    for (const key in value) copy[key] = this.snapshot(value[key] ?? null);
    return copy;
  }

  private copy(from: string, path: string): void {
    const value = this.get(from) ?? null;
    this.find(path);
    if (value !== null) this.copied += Buffer.byteLength(stringifyJson(value));
    if (this.copied > this.maxCopyBytes) {
      throw new Inapplicable('Unable to complete the copy, the accumulated size increase of copy exceeds the limit');
    }
    this.add(path, this.snapshot(value));
  }
}

const valueOf = (operation: JsonPatchOperation): JsonValue => operation['value'] ?? null;

/** Equality of values; a missing one equals null, but only at the top. */
function testEqual(actual: JsonValue | undefined, expected: JsonValue | undefined): boolean {
  const a = actual ?? null;
  const b = expected ?? null;
  if (!isContainer(a) || !isContainer(b)) return typeof a === typeof b && a === b;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => testEqual(item, b[i]));
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && testEqual(a[key], b[key]))
  );
}

/**
 * The document after the patch; neither is changed, and what the patch does not touch is shared with them. Throws the
 * 422 that clients see when an operation does not apply or a test fails.
 */
export function applyJsonPatch(
  document: JsonObject,
  operations: readonly JsonPatchOperation[],
  maxCopyBytes = MAX_COPY_BYTES,
): JsonValue {
  const patcher = new Patcher(document, maxCopyBytes);
  try {
    for (const operation of operations) patcher.run(operation);
  } catch (error) {
    if (error instanceof Inapplicable) throw unprocessable();
    throw error;
  }
  return patcher.result();
}
