import { newBadRequest, newInvalid } from '../../apimachinery/errors.js';
import { type FieldError, FieldPath, invalid, notSupported } from '../../apimachinery/field-error.js';
import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json.js';
import { goKind, interpretTypeMeta, JsonError } from '../../apimachinery/decode-json.js';
import { parseGroupVersion, quote } from '../../apimachinery/meta.js';
import type { DeleteOptions } from '../../registry/generic/delete.js';
import { negotiateInput } from '../negotiation/media.js';
import { parse, UNVERSIONED } from './decode-body.js';
import { dryRunValues, validateDryRun } from './write-options.js';
import type { Query } from './query.js';
import type { RequestScope } from './scope.js';

const POLICIES = ['Foreground', 'Background', 'Orphan', 'nil'];

/** Reads DeleteOptions from the body, or from the query where there is none, and checks them. */
export function deleteOptions(scope: RequestScope, query: Query, body: Buffer): DeleteOptions {
  const raw = body.length > 0 ? fromBody(scope, body) : fromQuery(query);
  const unsafe = scope.environment.features.enabled('AllowUnsafeMalformedObjectDeletion');
  const options: RawOptions = unsafe ? raw : { ...raw, ignoreStoreReadError: undefined };
  const errors = validate(options);
  if (errors.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  return {
    gracePeriodSeconds: options.gracePeriodSeconds,
    orphanDependents: options.orphanDependents,
    propagationPolicy: options.propagationPolicy,
    preconditions: options.preconditions ?? {},
    dryRun: options.dryRun.length > 0,
    ignoreStoreReadError: options.ignoreStoreReadError === true,
  };
}

interface RawOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: string | undefined;
  readonly preconditions: { uid?: string | undefined; resourceVersion?: string | undefined } | undefined;
  readonly dryRun: readonly string[];
  readonly ignoreStoreReadError: boolean | undefined;
}

function fromQuery(query: Query): RawOptions {
  const policy = query.has('propagationPolicy') ? query.string('propagationPolicy') : undefined;
  return {
    gracePeriodSeconds: query.integer('gracePeriodSeconds'),
    orphanDependents: query.boolean('orphanDependents'),
    propagationPolicy: policy,
    preconditions: preconditionsOf(query),
    dryRun: dryRunValues(query),
    ignoreStoreReadError: query.boolean('ignoreStoreReadErrorWithClusterBreakingPotential'),
  };
}

/** Preconditions are given in the query by their own names. */
function preconditionsOf(query: Query): RawOptions['preconditions'] {
  const given = (name: string): string | undefined => query.string(name) || undefined;
  const uid = given('uid');
  const resourceVersion = given('resourceVersion');
  return uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
}

/** The body may carry DeleteOptions of the meta group or of the resource's own group. */
function fromBody(scope: RequestScope, body: Buffer): RawOptions {
  const format = negotiateInput(scope.request.headers['content-type'], {
    custom: false,
    cbor: scope.environment.features.enabled('CBORServingAndStorage'),
  });
  try {
    const { value, floats } = parse(body, format, false, scope.environment.protobuf, {
      apiVersion: 'meta.k8s.io/v1',
      kind: 'DeleteOptions',
    });
    scope.context.audit?.requestObject(() => asInternal(value));
    const meta = interpretTypeMeta(value);
    const { kind } = meta;
    const apiVersion = meta.apiVersion === '' ? 'meta.k8s.io/v1' : meta.apiVersion;
    const gv = parseGroupVersion(apiVersion);
    if (gv === undefined) throw new JsonError(`unexpected GroupVersion string: ${apiVersion}`);
    if (kind !== '' && kind !== 'DeleteOptions') {
      throw newBadRequest(
        apiVersion === 'v1' && UNVERSIONED.has(kind)
          ? `converting (v1.${kind}) to (v1.DeleteOptions): unknown conversion`
          : `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
      );
    }
    return fromObject(isObject(value) ? value : {}, (isObject(value) ? floats?.get(value) : undefined) ?? NO_FLOATS);
  } catch (error) {
    if (error instanceof JsonError) throw newBadRequest(error.message);
    throw error;
  }
}

/** kube-apiserver's audit log shows these options in the version that it works with itself. */
const asInternal = (options: JsonValue): JsonValue =>
  isObject(options) ? { ...options, kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/__internal' } : options;

function fromObject(given: JsonObject, floats: ReadonlyMap<string, string>): RawOptions {
  // The first wrong type in the text is the one that is told.
  const object: JsonObject = {};
  for (const key in given) {
    object[key] = given[key];
    readOptions(object, floats);
  }
  return readOptions(object, floats);
}

function readOptions(object: JsonObject, floats: ReadonlyMap<string, string>): RawOptions {
  const preconditions = typed(object, 'preconditions', 'object', 'v1.Preconditions');
  const within = isObject(preconditions) ? preconditions : {};
  return {
    gracePeriodSeconds: seconds(object, floats),
    orphanDependents: typed(object, 'orphanDependents', 'bool', 'bool') as boolean | undefined,
    propagationPolicy: typed(object, 'propagationPolicy', 'string', 'v1.DeletionPropagation') as string | undefined,
    preconditions:
      preconditions === undefined
        ? undefined
        : {
            uid: typed(within, 'uid', 'string', 'types.UID', PRECONDITIONS) as string | undefined,
            resourceVersion: typed(within, 'resourceVersion', 'string', 'string', PRECONDITIONS) as string | undefined,
          },
    dryRun: textsOf(typed(object, 'dryRun', 'array', '[]string')),
    ignoreStoreReadError: typed(object, 'ignoreStoreReadErrorWithClusterBreakingPotential', 'bool', 'bool') as
      boolean | undefined,
  };
}

const PRECONDITIONS = 'Preconditions.preconditions.';
const NO_FLOATS: ReadonlyMap<string, string> = new Map();

/** `1.0` is no integer to Go. */
function seconds(object: JsonObject, floats: ReadonlyMap<string, string>): number | undefined {
  const value = typed(object, 'gracePeriodSeconds', 'number', 'int64') as number | undefined;
  const literal = floats.get('gracePeriodSeconds');
  if (value === undefined || literal === undefined) return value;
  throw new JsonError(
    `json: cannot unmarshal number ${literal} into Go struct field DeleteOptions.gracePeriodSeconds of type int64`,
  );
}

function textsOf(value: JsonValue | undefined): string[] {
  if (!Array.isArray(value)) return [];
  return value.map((item) => {
    if (typeof item === 'string') return item;
    if (item === null) return '';
    throw new JsonError(
      `json: cannot unmarshal ${goKind(item)} into Go struct field DeleteOptions.dryRun of type string`,
    );
  });
}

/** A member of the kind expected, undefined where it is absent or null; else Go's decoding error. */
function typed(
  object: JsonObject,
  name: string,
  kind: string,
  goType: string,
  struct = 'DeleteOptions.',
): JsonValue | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  if (goKind(value) === kind && (kind !== 'number' || Number.isInteger(Number(value)))) return value;
  const what = kind === 'number' && typeof value === 'number' ? `number ${String(value)}` : goKind(value);
  throw new JsonError(`json: cannot unmarshal ${what} into Go struct field ${struct}${name} of type ${goType}`);
}

function validate(options: RawOptions): FieldError[] {
  const errors: FieldError[] = [];
  const path = FieldPath.of('propagationPolicy');
  const policy = options.propagationPolicy;
  if (options.orphanDependents !== undefined && policy !== undefined) {
    errors.push(invalid(path, policy, 'orphanDependents and deletionPropagation cannot be both set'));
  }
  if (policy !== undefined && !POLICIES.slice(0, 3).includes(policy)) errors.push(notSupported(path, policy, POLICIES));
  errors.push(...validateDryRun(options.dryRun), ...validateUnsafe(options));
  return errors;
}

/** The unsafe deletion goes with no other option. */
function validateUnsafe(options: RawOptions): FieldError[] {
  if (options.ignoreStoreReadError !== true) return [];
  const field = FieldPath.of('ignoreStoreReadErrorWithClusterBreakingPotential');
  const refuse = (name: string): FieldError => invalid(field, true, `cannot be set together with .${name}`);
  const errors: FieldError[] = [];
  if (options.dryRun.length > 0) errors.push(refuse('dryRun'));
  if (options.propagationPolicy !== undefined) errors.push(refuse('propagationPolicy'));
  if (options.orphanDependents !== undefined) errors.push(refuse('orphanDependents'));
  if (options.gracePeriodSeconds !== undefined) errors.push(refuse('gracePeriodSeconds'));
  if (options.preconditions !== undefined) errors.push(refuse('preconditions'));
  return errors;
}
