import { newBadRequest, newInvalid } from '../../../apimachinery/meta/errors.js';
import { type FieldError, FieldPath, invalid, notSupportedConstant } from '../../../apimachinery/meta/field-error.js';
import { isObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { JsonError, typeMetaOf } from '../../../apimachinery/json/decode.js';
import { kindNotRegistered, parseGroupVersion } from '../../../apimachinery/meta/meta.js';
import { builtinSchema, requireSchema, type TypedObject } from '../../../apimachinery/scheme/builtin-schema.js';
import type { DeleteOptions } from '../../../registry/rest/storage.js';
import { negotiateInput } from '../../negotiation/media.js';
import { OPTIONS, UNVERSIONED } from '../codec/kinds.js';
import { parseBody } from '../codec/parse.js';
import { dryRunValues, validateDryRun } from './write-options.js';
import type { Query } from './query.js';
import type { RequestScope } from '../scope.js';

const POLICIES = ['Foreground', 'Background', 'Orphan', 'nil'];

/** Reads DeleteOptions from the body, or from the query if there is no body, and validates them. */
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
    hasPreconditions: options.preconditions !== undefined,
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

/** Reads the preconditions from the query, in which each field is a parameter of its own. */
function preconditionsOf(query: Query): RawOptions['preconditions'] {
  const given = (name: string): string | undefined => query.string(name) || undefined;
  const uid = given('uid');
  const resourceVersion = given('resourceVersion');
  return uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
}

/** Reads the options from the body. They may be DeleteOptions of the meta group or of the resource's own group. */
function fromBody(scope: RequestScope, body: Buffer): RawOptions {
  const format = negotiateInput(scope.request.headers['content-type'], {
    noProtobuf: false,
    cbor: scope.environment.features.enabled('CBORServingAndStorage'),
  });
  try {
    const fallback = { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' };
    const { protobuf } = scope.environment;
    const json = parseBody({ bytes: body, format, strict: false, protobuf }, fallback, { merges: true });
    const { value } = json;
    scope.context.audit?.requestObject(() => asInternal(value));
    const meta = typeMetaOf(json);
    const { kind } = meta;
    const apiVersion = meta.apiVersion === '' ? 'meta.k8s.io/v1' : meta.apiVersion;
    const gv = parseGroupVersion(apiVersion);
    if (gv === undefined) throw new JsonError(`unexpected GroupVersion string: ${apiVersion}`);
    if (kind !== '' && kind !== 'DeleteOptions') {
      // These kinds are known in any version, and decoding errors precede the conversion.
      const unversioned = UNVERSIONED.has(kind);
      if (unversioned) builtinSchema({ group: 'meta.k8s.io', version: 'v1', kind })?.decode(json);
      throw newBadRequest(
        unversioned || (apiVersion === 'meta.k8s.io/v1' && OPTIONS.has(kind))
          ? `converting (v1.${kind}) to (v1.DeleteOptions): unknown conversion`
          : kindNotRegistered(apiVersion, kind),
      );
    }
    return fromObject(requireSchema('meta.k8s.io', 'v1', 'DeleteOptions').decode(json));
  } catch (error) {
    if (error instanceof JsonError) throw newBadRequest(error.message);
    throw error;
  }
}

/** Returns the options in the internal version, as kube-apiserver's audit log shows them. */
const asInternal = (options: JsonValue): JsonValue =>
  isObject(options) ? { ...options, kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/__internal' } : options;

/** Reads the decoded options; the decoder has checked the types. */
function fromObject({ object }: TypedObject): RawOptions {
  const { gracePeriodSeconds, orphanDependents, propagationPolicy, preconditions, dryRun } = object;
  const within = isObject(preconditions) ? preconditions : undefined;
  return {
    gracePeriodSeconds: gracePeriodSeconds as number | undefined,
    orphanDependents: orphanDependents as boolean | undefined,
    propagationPolicy: propagationPolicy as string | undefined,
    preconditions: within && {
      uid: within['uid'] as string | undefined,
      resourceVersion: within['resourceVersion'] as string | undefined,
    },
    dryRun: Array.isArray(dryRun) ? dryRun.map(String) : [],
    ignoreStoreReadError: object['ignoreStoreReadErrorWithClusterBreakingPotential'] as boolean | undefined,
  };
}

function validate(options: RawOptions): FieldError[] {
  const errors: FieldError[] = [];
  const path = FieldPath.of('propagationPolicy');
  const policy = options.propagationPolicy;
  if (options.orphanDependents !== undefined && policy !== undefined) {
    errors.push(invalid(path, policy, 'orphanDependents and deletionPropagation cannot be both set'));
  }
  if (policy !== undefined && !POLICIES.slice(0, 3).includes(policy))
    errors.push(notSupportedConstant(path, policy, POLICIES));
  errors.push(...validateDryRun(options.dryRun), ...validateUnsafe(options));
  return errors;
}

/** Rejects an unsafe deletion that is combined with other options. */
function validateUnsafe(options: RawOptions): FieldError[] {
  if (options.ignoreStoreReadError !== true) return [];
  const field = FieldPath.of('ignoreStoreReadErrorWithClusterBreakingPotential');
  const refuse = (name: string): FieldError => invalid(field, true, `cannot be set together with .${name}`);
  const errors: FieldError[] = [];
  if (options.propagationPolicy !== undefined) errors.push(refuse('propagationPolicy'));
  if (options.orphanDependents !== undefined) errors.push(refuse('orphanDependents'));
  if (options.gracePeriodSeconds !== undefined) errors.push(refuse('gracePeriodSeconds'));
  if (options.preconditions !== undefined) errors.push(refuse('preconditions'));
  return errors;
}
