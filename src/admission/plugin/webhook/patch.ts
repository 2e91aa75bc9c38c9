import { ApiError, newInternalError } from '../../../apimachinery/meta/errors.js';
import { deepCopy, deepEqual, isObject, type JsonValue } from '../../../apimachinery/json/json.js';
import type { FloatLiterals } from '../../../apimachinery/json/parser.js';
import { goJson, type GroupVersionKind, type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import {
  applyOperations,
  decodeJsonPatch,
  type JsonPatchOperation,
  PatchFailure,
} from '../../../apimachinery/patch/json-patch.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { checkTypeMeta } from '../../type-meta.js';
import { type ReviewResponseStatus, CallError, rejection } from './errors.js';
import type { Hook } from './hooks.js';
import { sameKind } from './versions.js';

interface AnsweredPatch {
  readonly hook: Hook;
  readonly patch: string;
  readonly patchType: string;
  readonly status: ReviewResponseStatus | undefined;
  readonly object: KubeObject | undefined;
  readonly kind: GroupVersionKind;
}

interface Patched {
  readonly object: KubeObject;
  /** The patch as JSON. */
  readonly operations: string;
  readonly changed: boolean;
}

const UNAVAILABLE = 503;

/** Returns the object with a webhook's patch applied; undefined if there is nothing to apply. */
export function applyPatch(answered: AnsweredPatch, attributes: AdmissionAttributes): Patched | undefined {
  const { hook, patch: text, patchType, object, kind } = answered;
  if (text === '') return undefined;
  const { patch, literals } = decode(hook, text);
  if (patch.length === 0) return undefined;
  if (object === undefined) {
    const what = `admission webhook ${quote(hook.name)} attempted to modify the object`;
    throw newInternalError(`${what}, which is not supported for this operation`);
  }
  if (patchType !== 'JSONPatch') {
    const { status } = rejection(hook.name, answered.status);
    throw new CallError(hook.name, `unsupported patch type ${quote(patchType)}`, status.code);
  }
  const { versions, kind: own } = attributes;
  // Parts shared with the request's object have the defaults of its version, which must not gain those of another one: so copy.
  const patched = sameKind(kind, own) ? apply(object, patch) : deepCopy(apply(object, patch));
  const floats: FloatLiterals = new Map();
  const result = literals.size === 0 ? patched : literals.resolve(patched, floats);
  if (!isObject(result)) throw newInternalError('the patched value is not an object');
  checkTypeMeta(result);
  const changed = !deepEqual(object, result);
  const operations = goJson(literals.size === 0 ? [...patch] : literals.resolve([...patch], new Map()));
  const made = versions?.complete(result, kind, { floats, dropsInvalidMetadata: true }) ?? (result as KubeObject);
  return { object: made, operations, changed };
}

function decode(hook: Hook, text: string): ReturnType<typeof decodeJsonPatch> {
  try {
    return decodeJsonPatch(text);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const why = `received undecodable patch in webhook response: ${error.message}`;
    throw new CallError(hook.name, why, UNAVAILABLE);
  }
}

/** Applies the patch. An error in it is an internal error, not the client's. */
function apply(object: KubeObject, patch: readonly JsonPatchOperation[]): JsonValue {
  try {
    return applyOperations(object, patch);
  } catch (error) {
    if (error instanceof PatchFailure) throw newInternalError(error.message);
    throw error;
  }
}
