import { decodeDetailed, type DetailedJson, JsonError } from '../../../apimachinery/json/decode.js';
import { type ApiError, newInvalid } from '../../../apimachinery/meta/errors.js';
import { FieldPath, invalid } from '../../../apimachinery/meta/field-error.js';
import { deepCopy, isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import type { FloatLiterals, Parts } from '../../../apimachinery/json/parser.js';
import { compareUtf8, goJson, type KubeObject } from '../../../apimachinery/meta/meta.js';
import type { Literals } from '../../../apimachinery/patch/literals.js';
import { DecodeError } from '../../../apimachinery/scheme/decode-error.js';
import type { DecodedObject } from '../../../registry/rest/served.js';
import type { RequestScope } from '../scope.js';
import { warnOfStrictErrors } from './decode-body.js';
import type { FieldValidation } from './codec.js';

/** The outcome of applying a patch to an object. */
export interface PatchOutcome {
  /** The patched object; decoding modifies it. */
  readonly patched: JsonValue;
  /** The patched object for errors; shares with `current` and `patch` the parts that are the same there. */
  readonly unchanged: JsonValue;
  readonly patch: JsonValue;
  readonly current: KubeObject;
  /** The literals of the patched object's numbers. */
  readonly floats: FloatLiterals;
  /** The scalars that `unchanged` and `patch` hold as tokens. */
  readonly literals: Literals;
  /** Returns the text that errors show; if undefined, they show the patched object. */
  readonly shown: (() => string) | undefined;
  /** Strict errors of the patch itself. */
  readonly strictErrors: readonly string[];
  /** Objects of a JSON patch with duplicate keys; both values are kept wherever such an object is copied. */
  readonly parts?: Parts | undefined;
}

/** Returns the error that rejects a patch, in kube-apiserver's form. */
export const newInvalidPatch = (shown: string, why: string): ApiError =>
  newInvalid({ group: '', kind: '' }, '', [invalid(FieldPath.of('patch'), shown, why)]);

/** Decodes the patched tree as an object of the version. Fields that it must not have are rejected, or warned about, as an invalid patch. */
export function decodePatched(scope: RequestScope, outcome: PatchOutcome, validation: FieldValidation): KubeObject {
  const { served } = scope;
  const { patched } = scope.codec;
  // Decoding modifies the tree, which is rarely shown.
  const text = validation === 'Strict' ? showPatched(scope, outcome) : undefined;
  const shown = (): string => text ?? showPatched(scope, outcome);
  const refuse = (why: string): ApiError => newInvalidPatch(shown(), why);
  const merged = outcome.shown !== undefined;
  const { tree, unknown, versionless } = patched.identify(served, { value: outcome.patched, merged, shown, refuse });
  const errors = [...outcome.strictErrors, ...unknown];
  patched.stamp(served, tree);
  try {
    const decoded = decodeTree(scope, outcome, tree, validation !== 'Ignore');
    errors.push(...decoded.strictErrors);
    if (errors.length > 0 && validation === 'Strict') throw refuse(`strict decoding error: ${errors.join(', ')}`);
    if (validation !== 'Ignore') warnOfStrictErrors(scope.context, errors);
    patched.check(decoded.object);
    if (versionless) decoded.object.apiVersion = '';
    return decoded.object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const text = shown();
    throw newInvalidPatch(text, patched.sorted || merged ? error.message : firstFault(scope, text, error));
  }
}

function decodeTree(scope: RequestScope, outcome: PatchOutcome, tree: JsonObject, strict: boolean): DecodedObject {
  const { served } = scope;
  const isWhole = tree === outcome.patched;
  if (isWhole && (outcome.parts?.size ?? 0) > 0) return decodeText(scope, showPatched(scope, outcome), strict);
  const decoded = served.decode({ value: tree, duplicates: [], floats: outcome.floats }, strict);
  if (decoded.strictErrors.length === 0 || scope.codec.patched.sorted) return decoded;
  // The errors of a strategic merge are in the order of its sorted keys, all others in the order in which the object is shown.
  const strictErrors =
    isWhole && outcome.shown === undefined
      ? decodeText(scope, showPatched(scope, outcome), strict).strictErrors
      : [...decoded.strictErrors].sort(compareUtf8);
  return { ...decoded, strictErrors };
}

/** Decodes the patched object from the text that errors show, in which fields are ordered and keys may occur twice. */
function decodeText({ served, codec: { patched } }: RequestScope, shown: string, strict: boolean): DecodedObject {
  let json: DetailedJson;
  try {
    json = decodeDetailed(shown, { strict, merges: patched.merges });
  } catch (error) {
    if (error instanceof JsonError) throw newInvalidPatch(shown, error.message);
    throw error;
  }
  patched.stamp(served, json.value as JsonObject);
  return served.decode(json, strict);
}

/** Returns the first error in the order in which the object is shown. */
function firstFault(scope: RequestScope, shown: string, known: DecodeError): string {
  try {
    decodeText(scope, shown, false);
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
  return known.message;
}

/**
 * Returns the patched object as errors show it: containers on the path of the patch have sorted keys, those it left alone have
 * the field order of the type, and those it added have the order of the patch.
 */
function showPatched(scope: RequestScope, { unchanged, current, patch, parts, literals, shown }: PatchOutcome): string {
  if (shown !== undefined) return shown();
  const originals = new Map<JsonValue, JsonValue>();
  // A merge patch leaves no part of a custom resource in its original order; its keys are sorted anyway.
  const isSorted = scope.codec.patched.sorted;
  if (!isSorted || Array.isArray(patch)) pair(patch, patch, originals);
  if (!isSorted)
    pair(current, scope.served.decode({ value: deepCopy(current), duplicates: [] }, false).object, originals);
  return show(unchanged, { originals, parts, literals });
}

interface Sources {
  /** Maps the containers that the patch left alone or added to their form in their source. */
  readonly originals: ReadonlyMap<JsonValue, JsonValue>;
  readonly parts: Parts | undefined;
  readonly literals: Literals;
}

/** Maps each container of a value to its counterpart in another value of the same shape. */
function pair(value: JsonValue | undefined, like: JsonValue | undefined, into: Map<JsonValue, JsonValue>): void {
  if (Array.isArray(value) && Array.isArray(like)) {
    into.set(value, like);
    for (const [i, item] of value.entries()) pair(item, like[i], into);
  } else if (isObject(value) && isObject(like)) {
    into.set(value, like);
    for (const key in value) if (Object.hasOwn(like, key)) pair(value[key], like[key], into);
  }
}

function show(value: JsonValue | undefined, sources: Sources): string {
  const original = value === undefined ? undefined : sources.originals.get(value);
  if (original !== undefined) return showInOrder(original, sources);
  if (Array.isArray(value)) return `[${value.map((item) => show(item, sources)).join(',')}]`;
  if (!isObject(value)) return sources.literals.show(value);
  const members = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${members
    .sort(compareUtf8)
    .map((key) => `${goJson(key)}:${show(value[key], sources)}`)
    .join(',')}}`;
}

function showInOrder(value: JsonValue | undefined, sources: Sources): string {
  const { parts, literals } = sources;
  if (Array.isArray(value)) return `[${value.map((item) => showInOrder(item, sources)).join(',')}]`;
  if (!isObject(value)) return literals.show(value);
  return `{${(parts?.get(value) ?? [value])
    .flatMap(Object.entries<JsonValue | undefined>)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => `${goJson(key)}:${showInOrder(member, sources)}`)
    .join(',')}}`;
}
