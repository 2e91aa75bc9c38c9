import { newBadRequest, newInternalError, newNotFound } from '../../apimachinery/meta/errors.js';
import { decodeCborPatch } from '../../apimachinery/protobuf/body.js';
import { goKind, JsonError } from '../../apimachinery/json/decode.js';
import { deepCopy, isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { goFormat } from '../../apimachinery/json/go-format.js';
import type { FloatLiterals } from '../../apimachinery/json/parser.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { applyJsonPatch, type DecodedPatch, decodeJsonPatch } from '../../apimachinery/patch/json-patch.js';
import { Literals } from '../../apimachinery/patch/literals.js';
import { applyMergePatch, decodeMergePatch } from '../../apimachinery/patch/merge-patch.js';
import { decodeStrategicMergePatch } from '../../apimachinery/patch/strategic-merge.js';
import { parseYaml } from '../../apimachinery/yaml/yaml.js';
import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import { negotiatePatch } from '../negotiation/media.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import { readBody } from './request/body.js';
import { offloadOrRun } from './offload.js';
import { decodePatched, newInvalidPatch } from './codec/patched-object.js';
import { negotiateObject, writeMutationResult } from './respond.js';
import { Query } from './request/query.js';
import type { RequestScope } from './scope.js';
import { checkSyntax, isConversionError } from './request/patch-syntax.js';
import { requireNamespace } from './request/target.js';
import { namedWrite } from './update.js';
import { warnOfStrictErrors } from './codec/decode-body.js';
import { patchOptions, type WriteOptions } from './request/write-options.js';

const APPLY_YAML = 'application/apply-patch+yaml';
const APPLY_CBOR = 'application/apply-patch+cbor';

/** Builds the patched object from the current one. May run several times; does not change `current`. */
export type Mechanism = (current: KubeObject | undefined) => KubeObject;

/** PATCH on an object, or on a subresource that writes it. */
export async function patchHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment } = scope;
  const patchType = negotiatePatch(request.headers['content-type'], served.patchTypes);
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  environment.metrics.requestBodySize(served.gvk.group, served.groupResource.resource, 'patch', body.length);
  const apply = isApply(patchType);
  const options = patchOptions(query, apply);
  context.dryRun = options.dryRun;
  return offloadOrRun(scope, body, () => patch(scope, body, patchType, options, sink));
}

async function patch(
  scope: RequestScope,
  body: Buffer,
  patchType: string,
  options: WriteOptions,
  sink: ResponseSink,
): Promise<void> {
  checkSyntax(patchType, body);
  scope.context.audit?.requestObject(() => patchForAudit(body));
  const apply = isApply(patchType);
  requireNamespace(scope);
  const patched = await scope.storage.patch({
    ...namedWrite(scope),
    make: patchMechanism(scope, patchType, body, options),
    apply,
  });
  await writeMutationResult(scope, sink, patched.created ? 201 : 200, patched);
}

export const isApply = (patchType: string): boolean => patchType === APPLY_YAML || patchType === APPLY_CBOR;

function applyMechanism(scope: RequestScope, patchType: string, body: Buffer, options: WriteOptions): Mechanism {
  let value: JsonValue;
  let duplicates: readonly string[] = [];
  try {
    if (patchType === APPLY_CBOR) value = decodeCborPatch(body);
    else ({ value, duplicates } = parseYaml(body));
    if (value === null) value = {};
    if (!isObject(value)) {
      throw new JsonError(
        `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`,
      );
    }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const text = isConversionError(error) ? `error converting YAML to JSON: ${error.message}` : error.message;
    throw newBadRequest(`error decoding patch: ${text}`);
  }
  const configuration = value;
  return (current) => {
    const by = { manager: options.fieldManager, force: options.force };
    const next = scope.fieldManager.apply(current, deepCopy(configuration), by);
    if (duplicates.length > 0 && options.fieldValidation === 'Strict') {
      throw newBadRequest(`error strict decoding patch: error converting YAML to JSON: ${duplicates.join(', ')}`);
    }
    if (duplicates.length > 0 && options.fieldValidation === 'Warn') {
      warnOfStrictErrors(scope.context, duplicates);
    }
    return next;
  };
}

/** Returns the mechanism that applies a patch of this type. */
export function patchMechanism(scope: RequestScope, patchType: string, body: Buffer, options: WriteOptions): Mechanism {
  if (isApply(patchType)) return applyMechanism(scope, patchType, body, options);
  const manager = managerOrUserAgent(options.fieldManager, scope.context.userAgent);
  let patch: Patch | undefined;
  return (current) => {
    // A missing object is reported before a malformed patch.
    if (current === undefined) throw newNotFound(scope.served.groupResource, scope.context.info.name);
    patch ??= decodePatch(scope, patchType, body, options.fieldValidation !== 'Ignore');
    const { apply, strictErrors, parts, literals, value } = patch;
    const { result, shown } = apply(current);
    // The result may share parts with the current object and the patch, and is modified below.
    const floats: FloatLiterals = new Map();
    const patched = literals.size === 0 ? deepCopy(result) : literals.resolve(result, floats);
    const outcome = { patched, floats, unchanged: result, current, patch: value, literals, parts, shown, strictErrors };
    const object = decodePatched(scope, outcome, options.fieldValidation);
    return scope.fieldManager.update(current, object, manager);
  };
}

interface Patch {
  readonly value: JsonValue;
  readonly apply: (current: KubeObject) => Applied;
  readonly strictErrors: readonly string[];
  readonly literals: Literals;
  readonly parts?: DecodedPatch<unknown>['parts'];
}

interface Applied {
  readonly result: JsonValue;
  /** Returns the text that errors show for a strategic merge patch; for other patches, errors show the patched object. */
  readonly shown: (() => string) | undefined;
}

/** Reads the patch once; it may be applied several times. */
function decodePatch(scope: RequestScope, patchType: string, body: Buffer, strict: boolean): Patch {
  switch (patchType) {
    case 'application/json-patch+json': {
      const { patch, strictErrors, literals, parts } = decodeJsonPatch(body, strict);
      const apply = (current: KubeObject): Applied => ({ result: applyJsonPatch(current, patch), shown: undefined });
      return { apply, strictErrors, literals, parts, value: [...patch] };
    }
    case 'application/merge-patch+json': {
      const { patch, strictErrors, literals } = decodeMergePatch(body, strict);
      const apply = (current: KubeObject): Applied => ({ result: applyMergePatch(current, patch), shown: undefined });
      return { apply, strictErrors, literals, value: patch };
    }
    default: {
      const { patch, strictErrors } = decodeStrategicMergePatch(body, strict);
      const merge = scope.served.strategicMerge;
      if (merge === undefined) throw newInternalError(`unexpected patch type: ${patchType}`);
      // A strategic merge compares values, not their literal text.
      const literals = new Literals();
      return { apply: (current) => mergeStrategically(merge, current, patch), strictErrors, literals, value: patch };
    }
  }
}

/** Applies a strategic merge patch. The merge consumes its copy of the patch, and errors show what is left of it. */
function mergeStrategically(
  merge: (current: JsonObject, patch: JsonObject) => JsonObject,
  current: JsonObject,
  patch: JsonObject,
): Applied {
  const own = deepCopy(patch);
  const shown = (): string => goFormat(own);
  try {
    return { result: merge(current, own), shown };
  } catch (error) {
    if (error instanceof JsonError) throw newInvalidPatch(shown(), error.message);
    throw error;
  }
}

/** Returns a patch for the audit log: as JSON, or as text if it does not parse. */
function patchForAudit(body: Buffer): JsonValue {
  try {
    return parseYaml(body).value;
  } catch {
    return body.toString('utf8');
  }
}
