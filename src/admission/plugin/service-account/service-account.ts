import { newNotFound } from '../../../apimachinery/meta/errors.js';
import { type JsonObject, objectAt, objectsOf, textAt, textOf } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { podSecretNames } from '../../../authorization/node/references.js';
import { type Clock, sleep } from '../../../util/clock.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../interfaces.js';
import type { ObjectReader } from '../../object-reader.js';
import { refusal } from '../../refusal.js';
import { isAboutCore, isCore } from '../core-resources.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';

const namesOf = (account: KubeObject, field: string): ReadonlySet<string> =>
  new Set(objectsOf(account[field]).map(({ name }) => textOf(name)));

/** Returns the reason why a pod may not use its secrets under an account that lists the allowed ones, or undefined if it may. */
function unmountableSecret(account: KubeObject, spec: JsonObject): string | undefined {
  const secrets = namesOf(account, 'secrets');
  const by = account.metadata.name ?? '';
  const why = `is not allowed because service account ${by} does not reference that`;
  for (const volume of objectsOf(spec['volumes'])) {
    const source = objectAt(volume, 'secret');
    const name = textAt(source, 'secretName');
    if (source !== undefined && !secrets.has(name)) return `volume with secret.secretName="${name}" ${why} secret`;
  }
  for (const [list, called] of [
    ['initContainers', 'init container'],
    ['containers', 'container'],
  ] as const) {
    for (const container of objectsOf(spec[list])) {
      const reference = secretOfContainer(container, secrets);
      if (reference !== undefined) return `${called} ${textAt(container, 'name')} with ${reference} ${why} secret`;
    }
  }
  const pullSecrets = namesOf(account, 'imagePullSecrets');
  const named = objectsOf(spec['imagePullSecrets']).map(({ name }) => textOf(name));
  const at = named.findIndex((name) => !pullSecrets.has(name));
  return at < 0 ? undefined : `imagePullSecrets[${String(at)}].name="${named[at] ?? ''}" ${why} imagePullSecret`;
}

/** Returns the first reference of a container to a secret that is not allowed. */
function secretOfContainer(container: JsonObject, allowed: ReadonlySet<string>): string | undefined {
  for (const variable of objectsOf(container['env'])) {
    const source = objectAt(objectAt(variable, 'valueFrom'), 'secretKeyRef');
    const name = textAt(source, 'name');
    if (source !== undefined && !allowed.has(name)) {
      return `envVar ${textAt(variable, 'name')} referencing secret.secretName="${name}"`;
    }
  }
  for (const from of objectsOf(container['envFrom'])) {
    const source = objectAt(from, 'secretRef');
    const name = textAt(source, 'name');
    if (source !== undefined && !allowed.has(name)) return `envFrom referencing secret.secretName="${name}"`;
  }
  return undefined;
}

const VOLUME = 'kube-api-access-';
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** An hour and seven seconds. Tokens of this lifetime are extended to a year for clients that do not reload them. */
const EXPIRATION_SECONDS = 3607;
const DEFAULT_MODE = 0o644;

/** Mounts a token into every container that has no mount at that path yet. */
function mountToken(spec: JsonObject, generateName: (prefix: string) => string): void {
  const volumes = objectsOf(spec['volumes']);
  const existing = volumes.find(({ name }) => textOf(name).startsWith(VOLUME));
  const name = textAt(existing, 'name') || generateName(VOLUME);
  let needed = false;
  for (const list of ['initContainers', 'containers']) {
    for (const container of objectsOf(spec[list])) {
      const mounts = objectsOf(container['volumeMounts']);
      if (mounts.some(({ mountPath }) => mountPath === MOUNT_PATH)) continue;
      container['volumeMounts'] = [...mounts, { name, readOnly: true, mountPath: MOUNT_PATH }];
      needed = true;
    }
  }
  if (needed && existing === undefined) spec['volumes'] = [...volumes, tokenVolume(name)];
}

function tokenVolume(name: string): JsonObject {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: EXPIRATION_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: DEFAULT_MODE,
    },
  };
}

export interface ServiceAccountDependencies {
  readonly accounts: ObjectReader;
  readonly clock: Clock;
  /** Generates a name with a prefix. */
  readonly generateName: (prefix: string) => string;
}

const MIRROR_POD = 'kubernetes.io/config.mirror';
const ENFORCE = 'kubernetes.io/enforce-mountable-secrets';
const DEFAULT = 'default';
const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

/**
 * The number of lookups of the default account. A controller creates it in a new namespace, so the plugin waits one to
 * two seconds for it.
 */
const ATTEMPTS = 10;
const MIN_WAIT_MILLIS = 100;
const WAIT_SPREAD_MILLIS = 100;

/** Assigns new pods an existing service account, mounts its token, and adds its imagePullSecrets. */
export function serviceAccountAdmission(dependencies: ServiceAccountDependencies): AdmissionPlugin {
  return {
    name: 'ServiceAccount',
    handles: (operation) => operation === 'CREATE',
    readsObjects: (resource) => isCore(resource, 'pods'),
    admit(attributes) {
      const pod = newPod(attributes);
      if (pod === undefined) return;
      // A kubelet deletes a mirror pod that differs from the one it created.
      if (isMirror(pod)) {
        checkMirrorPod(attributes, pod);
        return;
      }
      const spec = objectAt(pod, 'spec') ?? (pod['spec'] = {});
      const name = accountOf(pod) || DEFAULT;
      spec['serviceAccountName'] = name;
      spec['serviceAccount'] = name;
      return withAccount(dependencies, attributes, name, (account) => {
        applyServiceAccount(dependencies, spec, account);
        enforceMountable(attributes, account, pod);
      });
    },
    validate(attributes) {
      const pod = newPod(attributes);
      if (pod === undefined) return;
      if (isMirror(pod)) {
        checkMirrorPod(attributes, pod);
        return;
      }
      const name = accountOf(pod);
      if (name === '') {
        const of = `${attributes.namespace}/${pod.metadata.name ?? ''}`;
        throw refusal(attributes, `no service account specified for pod ${of}`);
      }
      return withAccount(dependencies, attributes, name, (account) => enforceMountable(attributes, account, pod));
    },
  };
}

const newPod = (attributes: AdmissionAttributes): KubeObject | undefined =>
  isAboutCore(attributes, 'pods') ? attributes.object : undefined;

const isMirror = (pod: KubeObject): boolean => pod.metadata.annotations?.[MIRROR_POD] !== undefined;

const accountOf = (pod: KubeObject): string => textAt(objectAt(pod, 'spec'), 'serviceAccountName');

function checkMirrorPod(attributes: AdmissionAttributes, pod: KubeObject): void {
  if (accountOf(pod) !== '') throw refusal(attributes, 'a mirror pod may not reference service accounts');
  if (podSecretNames(pod).length > 0) throw refusal(attributes, 'a mirror pod may not reference secrets');
  for (const volume of objectsOf(objectAt(pod, 'spec')?.['volumes'])) {
    const sources = objectsOf(objectAt(volume, 'projected')?.['sources']);
    if (sources.some((source) => source['serviceAccountToken'] !== undefined)) {
      throw refusal(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
    }
  }
}

function withAccount(
  { accounts, clock }: ServiceAccountDependencies,
  attributes: AdmissionAttributes,
  name: string,
  use: (account: KubeObject) => void,
): MaybePromise<void> {
  const { namespace } = attributes;
  const cached = accounts.cached(namespace, name);
  if (cached !== undefined) {
    use(cached);
    return;
  }
  return waitForServiceAccount(accounts, clock, attributes, name).then((account) => {
    if (account !== undefined) {
      use(account);
      return;
    }
    const missing = newNotFound({ group: '', resource: 'serviceaccount' }, name).message;
    throw refusal(attributes, `error looking up service account ${namespace}/${name}: ${missing}`);
  });
}

async function waitForServiceAccount(
  accounts: ObjectReader,
  clock: Clock,
  { namespace, cancellation }: AdmissionAttributes,
  name: string,
): Promise<KubeObject | undefined> {
  const attempts = name === DEFAULT ? ATTEMPTS : 1;
  const wait = MIN_WAIT_MILLIS + Math.floor(Math.random() * WAIT_SPREAD_MILLIS);
  for (let attempt = 1; ; attempt++) {
    const account = await accounts.live(namespace, name);
    if (account !== undefined || attempt === attempts) return account;
    await sleep(clock, wait, cancellation);
    cancellation.throwIfAborted();
  }
}

function applyServiceAccount(
  { generateName }: ServiceAccountDependencies,
  spec: JsonObject,
  account: KubeObject,
): void {
  const automount = spec['automountServiceAccountToken'] ?? account['automountServiceAccountToken'];
  if (automount !== false) mountToken(spec, generateName);
  if (objectsOf(spec['imagePullSecrets']).length > 0) return;
  const secrets = objectsOf(account['imagePullSecrets']).map(({ name }): JsonObject => ({ name: name ?? '' }));
  if (secrets.length > 0) spec['imagePullSecrets'] = secrets;
}

function enforceMountable(attributes: AdmissionAttributes, account: KubeObject, pod: KubeObject): void {
  if (!TRUE.has(account.metadata.annotations?.[ENFORCE] ?? '')) return;
  const why = unmountableSecret(account, objectAt(pod, 'spec') ?? {});
  if (why !== undefined) throw refusal(attributes, why);
}
