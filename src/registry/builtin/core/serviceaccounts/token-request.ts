import type { TokenRequest, TokenRequestSpec } from '../../../../apimachinery/generated/authentication.js';
import {
  newBadRequest,
  newConflict,
  newInternalError,
  newInvalid,
  newNotFound,
} from '../../../../apimachinery/meta/errors.js';
import { type FieldError, FieldPath, invalid } from '../../../../apimachinery/meta/field-error.js';
import type { Pod, ServiceAccount } from '../../../../apimachinery/generated/core.js';
import type { JsonObject } from '../../../../apimachinery/json/json.js';
import { formatTime, parseGroupVersion, quote } from '../../../../apimachinery/meta/meta.js';
import type { ServiceAccountObjects } from '../../../../authentication/token/service-account/service-account-objects.js';
import type {
  BoundTokenRequest,
  ServiceAccountTokenSigner,
} from '../../../../authentication/token/service-account/service-account-signer.js';
import type { ObjectReference } from '../../../../authentication/token/service-account/service-account-claims.js';
import type { RequestContext } from '../../../../request/context.js';
import type { Clock } from '../../../../util/clock.js';
import type { CreateOnlySubresource } from '../../../rest/interfaces.js';
import { messageOf } from '../../../../util/error-message.js';
import { ensureObject } from '../../shared/fields.js';

const GVK = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
const DEFAULT_SECONDS = 3600;
/** The lifetime in seconds that kube-apiserver's ServiceAccount admission plugin requests. Only tokens with this lifetime are extended. */
const EXTENDABLE_SECONDS = 3607;
const EXTENDED_SECONDS = 365 * 24 * 3600;

export interface TokenRequestDependencies {
  readonly objects: ServiceAccountObjects;
  readonly signer: ServiceAccountTokenSigner;
  /** The audiences of a token if the request names none. */
  readonly apiAudiences: readonly string[];
  /** The maximum lifetime in seconds; 0 means no limit. */
  readonly maxExpirationSeconds: number;
  /** True if pods' tokens are valid for a year. Their use after the requested lifetime is noted in the audit log. */
  readonly extendExpiration: boolean;
  readonly clock: Clock;
}

/** Returns the subresource `serviceaccounts/<name>/token`. */
export function tokenRequestSubresource(dependencies: TokenRequestDependencies): CreateOnlySubresource {
  return {
    gvk: GVK,
    applyDefaults: (object) => {
      ensureObject(object, 'spec')['expirationSeconds'] ??= DEFAULT_SECONDS;
    },
    create: (context, object, parent, validate) => create(dependencies, context, object, parent, validate),
  };
}

const metadataPath = FieldPath.of('metadata');
const expirationPath = FieldPath.of('spec').child('expirationSeconds');

interface Parent {
  readonly namespace: string;
  readonly name: string;
}

async function create(
  dependencies: TokenRequestDependencies,
  context: RequestContext,
  object: TokenRequest,
  parent: Parent,
  validate: () => Promise<void>,
): Promise<TokenRequest> {
  const { objects, clock, apiAudiences, maxExpirationSeconds, signer } = dependencies;
  const { namespace, name } = parent;
  const { metadata } = object;
  const given = metadata.name ?? '';
  if (given !== '' && given !== name) {
    const why = 'must match the service account name if specified';
    throw newInvalid(GVK, name, [invalid(metadataPath.child('name'), given, why)]);
  }
  const account = await require(objects, 'serviceaccounts', namespace, name);
  const uid = account.metadata.uid ?? '';
  checkUid(metadata.uid ?? '', uid, name);
  const spec = ensureObject(object, 'spec');
  const audiences = spec.audiences ?? [];
  const now = clock.now();
  if (audiences.length === 0) spec.audiences = [...apiAudiences];
  Object.assign(metadata, { name, namespace, uid, creationTimestamp: formatTime(now) });
  delete object.status;
  const errors = validateExpiration(spec);
  if (errors.length > 0) throw newInvalid(GVK, '', errors);
  await validate();
  const bound = await boundObject(objects, spec, parent);
  let seconds = Number(spec.expirationSeconds);
  if (maxExpirationSeconds > 0 && seconds > maxExpirationSeconds) {
    context.warn(`requested expiration of ${seconds} seconds shortened to ${maxExpirationSeconds} seconds`);
    seconds = maxExpirationSeconds;
  }
  const asked = audiences.length === 0 ? apiAudiences : audiences;
  const extend =
    dependencies.extendExpiration &&
    bound.pod !== undefined &&
    seconds === EXTENDABLE_SECONDS &&
    asked.every((audience) => apiAudiences.includes(audience));
  const { token, id } = await sign(signer, {
    namespace,
    serviceAccount: { name, uid },
    audiences: asked,
    now,
    expirationSeconds: extend ? EXTENDED_SECONDS : seconds,
    ...(extend && { warnAfterSeconds: seconds }),
    ...bound,
  });
  context.annotate('authentication.kubernetes.io/issued-credential-id', `JTI=${id}`);
  return {
    kind: GVK.kind,
    apiVersion: 'authentication.k8s.io/v1',
    metadata: ordered(metadata),
    spec: { audiences: [...asked], expirationSeconds: seconds, boundObjectRef: spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp: formatTime(now + seconds * 1000) },
  };
}

function sign(
  signer: ServiceAccountTokenSigner,
  request: BoundTokenRequest,
): ReturnType<ServiceAccountTokenSigner['signBound']> {
  return signer.signBound(request).catch((error: unknown) => {
    const why = messageOf(error);
    throw newInternalError(`failed to generate token: ${why}`);
  });
}

/** Puts the fields that the server sets first, as in every response. */
function ordered(metadata: ServiceAccount['metadata']): ServiceAccount['metadata'] {
  const { name, generateName, namespace, uid, resourceVersion, generation, creationTimestamp, ...rest } = metadata;
  const first = { name, generateName, namespace, uid, resourceVersion, generation, creationTimestamp };
  return {
    ...(Object.fromEntries(Object.entries(first).filter(([, value]) => value !== undefined)) as JsonObject),
    ...rest,
  };
}

function checkUid(given: string, uid: string, name: string): void {
  if (given === '' || given === uid) return;
  const why = `the UID in the token request (${given}) does not match the UID of the service account (${uid})`;
  throw newConflict({ group: GVK.group, resource: GVK.kind }, name, why);
}

function validateExpiration(spec: TokenRequestSpec): FieldError[] {
  const seconds = spec.expirationSeconds;
  const count = Number(seconds);
  if (count < MIN_SECONDS) {
    return [invalid(expirationPath, seconds, 'may not specify a duration less than 10 minutes')];
  }
  if (count > MAX_SECONDS) {
    return [invalid(expirationPath, seconds, 'may not specify a duration larger than 2^32 seconds')];
  }
  return [];
}

type Kind = Parameters<ServiceAccountObjects['live']>[0];

async function require(
  objects: ServiceAccountObjects,
  kind: Kind,
  namespace: string,
  name: string,
): Promise<ServiceAccount> {
  if (name === '') throw newBadRequest('Name parameter required.');
  const object = await objects.live(kind, namespace, name);
  if (object === undefined) throw newNotFound({ group: '', resource: kind }, name);
  return object;
}

type Bound = Pick<BoundTokenRequest, 'pod' | 'secret' | 'node'>;

const referenceTo = (object: ServiceAccount): ObjectReference => ({
  name: object.metadata.name ?? '',
  uid: object.metadata.uid ?? '',
});

/** Returns the object that the token is bound to, besides its service account. */
async function boundObject(objects: ServiceAccountObjects, spec: TokenRequestSpec, parent: Parent): Promise<Bound> {
  const ref = spec.boundObjectRef ?? undefined;
  if (ref === undefined) return {};
  const { group, version } = parseGroupVersion(ref.apiVersion ?? '') ?? { group: '', version: '' };
  const kind = ref.kind ?? '';
  const name = ref.name ?? '';
  const found = await find(objects, group === '' ? kind : '', name, parent);
  if (found === undefined) {
    throw newBadRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  }
  const { bound, uid } = found;
  const wanted = ref.uid ?? '';
  if (wanted !== '' && wanted !== uid) {
    const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw newConflict({ group, resource: kind }, name, why);
  }
  return bound;
}

/** Returns undefined for a kind that tokens cannot be bound to. */
async function find(
  objects: ServiceAccountObjects,
  kind: string,
  name: string,
  { namespace, name: account }: Parent,
): Promise<{ bound: Bound; uid: string } | undefined> {
  switch (kind) {
    case 'Pod': {
      const object: Pod = await require(objects, 'pods', namespace, name);
      const podSpec = object.spec;
      if (podSpec?.serviceAccountName !== account) {
        const why = `cannot bind token for serviceaccount ${quote(account)} to pod running with different serviceaccount name.`;
        throw newBadRequest(why);
      }
      const pod = referenceTo(object);
      const nodeName = podSpec.nodeName ?? '';
      if (nodeName === '') return { bound: { pod }, uid: pod.uid };
      const node = await objects.live('nodes', '', nodeName);
      return { bound: { pod, node: node === undefined ? { name: nodeName } : referenceTo(node) }, uid: pod.uid };
    }
    case 'Node': {
      const node = referenceTo(await require(objects, 'nodes', '', name));
      return { bound: { node }, uid: node.uid };
    }
    case 'Secret': {
      const secret = referenceTo(await require(objects, 'secrets', namespace, name));
      return { bound: { secret }, uid: secret.uid };
    }
    default:
      return undefined;
  }
}
