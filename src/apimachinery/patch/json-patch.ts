import { decodeDetailed, goKind, JsonError } from '../json/decode.js';
import { NumberRangeError } from '../json/syntax.js';
import { newBadRequest, newRequestEntityTooLarge } from '../meta/errors.js';
import { isObject, type JsonObject, type JsonValue, stringifyJson, textOf } from '../json/json.js';
import type { Parts } from '../json/parser.js';
import { quote } from '../meta/meta.js';
import { unprocessable } from './errors.js';
import { Literals } from './literals.js';

const MAX_JSON_PATCH_OPERATIONS = 10000;

/** The number of bytes by which all copy operations of a patch together may grow an object. */
const MAX_COPY_BYTES = 3 * 1024 * 1024;

export interface DecodedPatch<T> {
  readonly patch: T;
  /** Errors such as `json patch unknown field "[0].foo"`. Empty unless decoding is strict. */
  readonly strictErrors: readonly string[];
  /** Set on a JSON patch if decoding is strict: its objects with duplicate keys. */
  readonly parts?: Parts | undefined;
}

/** A patch that keeps scalars as they are written. */
export interface TextPatch<T> extends DecodedPatch<T> {
  readonly literals: Literals;
}

/** An operation with unchecked fields; errors in them surface when it is applied. */
export type JsonPatchOperation = JsonObject;

const TEXTS = ['op', 'path', 'from'];
const FIELDS = new Set([...TEXTS, 'value']);

/** Decodes a JSON patch. Throws ApiError, whose message depends on `strict` (fieldValidation Warn or Strict). */
export function decodeJsonPatch(body: Uint8Array | string, strict = false): TextPatch<readonly JsonPatchOperation[]> {
  const prefix = strict ? 'error decoding patch: ' : '';
  const listType = strict ? '[]handlers.jsonPatchOp' : 'jsonpatch.Patch';
  const itemType = strict ? 'handlers.jsonPatchOp' : 'jsonpatch.Operation';
  const refuse = (text: string): never => {
    throw newBadRequest(prefix + text);
  };
  const mismatch = (value: JsonValue, type: string): never =>
    refuse(`json: cannot unmarshal ${goKind(value)} into Go value of type ${type}`);
  const literals = new Literals('compared');
  const { duplicates, source, ...decoded } = decode(body, strict, literals, refuse);
  // The same value, but with the objects whose parts are known.
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
      `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${operations.length}`,
    );
  }
  // Sort by operation, the order in which one pass over the text finds them.
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
    return decodeDetailed(body, { strict, literals });
  } catch (error) {
    // In strict decoding, a number is known to be in the field `value`.
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
    if (!FIELDS.has(key)) errors.push(`json patch unknown field ${quote(`[${i}].${key}`)}`);
    else if (key !== 'value' && typeof value !== 'string' && value !== null) {
      refuse(`json: cannot unmarshal ${goKind(value)} into Go struct field jsonPatchOp.${key} of type string`);
    }
  }
}

/** The reason that an operation cannot be applied, in the words of kube-apiserver's library. */
export class PatchFailure extends Error {
  override readonly name: string = 'PatchFailure';
}

/** A test operation whose value differs from the actual one. */
export class TestFailure extends PatchFailure {
  override readonly name = 'TestFailure';
}

const missing = (text: string): PatchFailure => new PatchFailure(`${text}: missing value`);

/** Prefixes a failure with the operation in which it occurred. */
function during<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof PatchFailure) error.message = `${what}: ${error.message}`;
    throw error;
  }
}

const INDEX = /^[-+]?[0-9]{1,15}$/;

function index(key: string, length: number, what: 'existing' | 'insert'): number {
  if (!INDEX.test(key)) {
    const syntax = `strconv.Atoi: parsing ${quote(key)}: invalid syntax`;
    throw new PatchFailure(what === 'insert' ? `value was not a proper array index: '${key}': ${syntax}` : syntax);
  }
  const given = Number(key);
  const limit = what === 'insert' ? length + 1 : length;
  // Negative indices count from the end.
  const at = given < 0 ? given + limit : given;
  if (at < 0 || at >= limit) {
    throw new PatchFailure(`Unable to access invalid index: ${given}: invalid index referenced`);
  }
  return at;
}

type Container = JsonObject | JsonValue[];

const isContainer = (value: JsonValue | undefined): value is Container => typeof value === 'object' && value !== null;

const decodeToken = (token: string): string => token.replace(/~1/g, '/').replace(/~0/g, '~');

class Patcher {
  /** Containers that this patch created itself, and so may modify. */
  private readonly own = new Set<Container>();
  private copied = 0;

  constructor(private root: Container) {
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
      case 'move':
        this.move(this.text(operation, 'from'), operation);
        break;
      case 'test':
        this.test(this.text(operation, 'path'), operation);
        break;
      case 'copy':
        this.copy(this.text(operation, 'from'), this.text(operation, 'path'));
        break;
      default:
        throw new PatchFailure(`Unexpected kind: ${typeof operation['op'] === 'string' ? operation['op'] : 'unknown'}`);
    }
  }

  private text(operation: JsonPatchOperation, field: 'path' | 'from'): string {
    const value = operation[field];
    if (typeof value === 'string') return value;
    const op = textOf(operation['op']);
    const what = field === 'from' ? 'operation, missing from field' : 'operation missing path field';
    const isTerse = field === 'path' && (op === 'add' || op === 'remove' || op === 'copy');
    throw missing(`${op} operation failed to decode ${field}${isTerse ? '' : `: ${what}`}`);
  }

  private writable<T extends Container>(container: T): T {
    if (this.own.has(container)) return container;
    const copy = (Array.isArray(container) ? [...container] : Object.assign({}, container)) as T;
    this.own.add(copy);
    return copy;
  }

  /**
   * Returns the container of a path's last token, and that token. Anything before the first slash is ignored. Containers that the
   * path only traverses become the patch's own too: kube-apiserver returns their members in another order than those that no path
   * traverses.
   */
  private find(path: string, absent: string): [Container, string] {
    const tokens = path.split('/').map(decodeToken);
    const key = tokens.pop();
    if (tokens.length === 0 || key === undefined) throw missing(absent);
    let current = this.root;
    for (const token of tokens.slice(1)) {
      const at = Array.isArray(current) ? placeOf(token, current.length) : token;
      const next = at === undefined ? undefined : (current as JsonObject)[at];
      if (at === undefined || !isContainer(next) || (typeof at === 'string' && !Object.hasOwn(current, at))) {
        throw missing(absent);
      }
      const child = this.writable(next);
      (current as JsonObject)[at] = child;
      current = child;
    }
    return [current, key];
  }

  private add(path: string, value: JsonValue): void {
    const [container, key] = this.find(path, `add operation does not apply: doc is missing path: "${path}"`);
    during(`error in add for path: '${path}'`, () => insert(container, key, value));
  }

  private remove(path: string): void {
    const [container, key] = this.find(path, `remove operation does not apply: doc is missing path: "${path}"`);
    during(`error in remove for path: '${path}'`, () => drop(container, key));
  }

  /** Replaces a value. As in kube-apiserver, an object need not have the key. */
  private replace(path: string, operation: JsonPatchOperation): void {
    const value = valueOf(operation);
    if (path === '') {
      if (!isContainer(value)) {
        throw new PatchFailure('replace operation value must be object or array: %!w(<nil>)');
      }
      this.root = this.writable(value);
      return;
    }
    const [container, key] = this.find(path, `replace operation does not apply: doc is missing path: ${path}`);
    if (!Array.isArray(container)) {
      container[key] = value;
      return;
    }
    const at = placeOf(key, container.length);
    if (at === undefined) throw missing(`replace operation does not apply: doc is missing key: ${path}`);
    container[at] = value;
  }

  private move(from: string, operation: JsonPatchOperation): void {
    const [source, name] = this.find(from, `move operation does not apply: doc is missing from path: ${from}`);
    const value = during(`error in move for path: '${name}'`, () => {
      const found = read(source, name);
      drop(source, name);
      return found;
    });
    const path = this.text(operation, 'path');
    const [target, key] = this.find(path, `move operation does not apply: doc is missing destination path: ${path}`);
    during(`error in move for path: '${path}'`, () => insert(target, key, value ?? null));
  }

  private test(path: string, operation: JsonPatchOperation): void {
    const expected = operation['value'];
    const failed = new TestFailure(`testing value ${path} failed: test failed`);
    if (path === '') {
      if (!testEqual(this.root, expected)) throw failed;
      return;
    }
    const [container, key] = this.find(path, `test operation does not apply: is missing path: ${path}`);
    const actual = during(`error in test for path: '${path}'`, () => read(container, key));
    if (!testEqual(actual, expected)) throw failed;
    if (!isContainer(actual)) return;
    (container as JsonObject)[Array.isArray(container) ? index(key, container.length, 'existing') : key] =
      this.allWritable(actual);
  }

  /** Makes a container and everything in it the patch's own. */
  private allWritable(container: Container): Container {
    const own = this.writable(container);
    for (const [key, value] of Object.entries(own)) {
      if (isContainer(value)) (own as JsonObject)[key] = this.allWritable(value);
    }
    return own;
  }

  /** Returns the value as it is now, so that later changes of the patch's own containers do not affect it. */
  private snapshot(value: JsonValue): JsonValue {
    if (!isContainer(value) || !this.own.has(value)) return value;
    if (Array.isArray(value)) return value.map((item) => this.snapshot(item));
    const copy: JsonObject = {};
    for (const key in value) copy[key] = this.snapshot(value[key] ?? null);
    return copy;
  }

  private copy(from: string, path: string): void {
    const [source, name] = this.find(from, `copy operation does not apply: doc is missing from path: ${from}`);
    const value = during(`error in copy for from: '${from}'`, () => read(source, name)) ?? null;
    const [target, key] = this.find(path, `copy operation does not apply: doc is missing destination path: ${path}`);
    if (value !== null) this.copied += Buffer.byteLength(stringifyJson(value));
    if (this.copied > MAX_COPY_BYTES) {
      throw new PatchFailure(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.copied}, exceeding the limit ${MAX_COPY_BYTES}`,
      );
    }
    during('error while adding value during copy', () => insert(target, key, this.snapshot(value)));
  }
}

/** Returns a member; undefined if an object lacks the key. An array must have the index. */
function read(container: Container, key: string): JsonValue | undefined {
  if (Array.isArray(container)) return container[index(key, container.length, 'existing')];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

function insert(container: Container, key: string, value: JsonValue): void {
  if (!Array.isArray(container)) container[key] = value;
  else if (key === '-') container.push(value);
  else container.splice(index(key, container.length, 'insert'), 0, value);
}

function drop(container: Container, key: string): void {
  if (Array.isArray(container)) container.splice(index(key, container.length, 'existing'), 1);
  else if (!Object.hasOwn(container, key)) throw missing(`Unable to remove nonexistent key: ${key}`);
  else delete container[key];
}

/** Returns the index in an array; undefined if the array does not have it. */
function placeOf(key: string, length: number): number | undefined {
  if (!INDEX.test(key)) return undefined;
  const given = Number(key);
  const at = given < 0 ? given + length : given;
  return at < 0 || at >= length ? undefined : at;
}

const valueOf = (operation: JsonPatchOperation): JsonValue => operation['value'] ?? null;

/** Reports whether two values are equal. A missing value equals null, but only at the top. */
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

/** Returns the patched document. Neither argument is modified; the result shares what the patch does not touch. Throws PatchFailure. */
export function applyOperations(document: JsonObject, operations: readonly JsonPatchOperation[]): JsonValue {
  const patcher = new Patcher(document);
  for (const operation of operations) patcher.run(operation);
  return patcher.result();
}

/** Does the same for a client's patch. The client only learns that an operation does not apply: throws that 422. */
export function applyJsonPatch(document: JsonObject, operations: readonly JsonPatchOperation[]): JsonValue {
  try {
    return applyOperations(document, operations);
  } catch (error) {
    if (error instanceof PatchFailure) throw unprocessable();
    throw error;
  }
}
