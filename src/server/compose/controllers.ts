import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import { ApiError } from '../../apimachinery/meta/errors.js';
import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';
import { SERVICE_ACCOUNT_PREFIX, type UserInfo } from '../../authentication/user/user.js';
import { BootstrapSigner } from '../../controllers/bootstrap/bootstrap-signer.js';
import { cleanRequests, forEachRequest } from '../../controllers/certificates/certificate-loops.js';
import { approveRequest, signApproved } from '../../controllers/certificates/certificates.js';
import { ClusterRoleAggregation } from '../../controllers/clusterrole-aggregation.js';
import { GarbageCollector } from '../../controllers/garbage-collector/garbage-collector.js';
import { LegacyTokenCleaner } from '../../controllers/service-accounts/legacy-token-cleaner.js';
import { NamespaceController } from '../../controllers/namespaces.js';
import { ResourceQuotaController } from '../../controllers/resource-quota/resource-quota.js';
import { rootCaPublisher } from '../../controllers/certificates/root-ca-publisher.js';
import { ServiceAccountTokens } from '../../controllers/service-accounts/service-account-tokens.js';
import { defaultServiceAccounts } from '../../controllers/service-accounts/service-accounts.js';
import { claimsInUse, claimsNamed, StorageProtection } from '../../controllers/storage/protection.js';
import { ElectionLease, localLeases } from '../../controllers/lease.js';
import { TokenCleaner } from '../../controllers/bootstrap/token-cleaner.js';
import { ValidatingPolicyStatus } from '../../controllers/validating-policy-status.js';
import type { LoopbackClient, LoopbackClients } from '../../registry/rest/loopback-client.js';
import { aborted, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { enabledControllers } from '../options/controller-names.js';
import { knownTypes } from './admission/local-sources.js';
import type { HookOptions } from './startup/hook-context.js';

export const DEFINITIONS = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };

/** The Lease by which servers on one store elect the one that runs the controllers. */
const LEASE = 'annex-controllers';
const RETRY_MILLIS = 1_000;
const RBAC = 'rbac.authorization.k8s.io';
const SYSTEM = 'kube-system';
const MANAGER = 'kube-controller-manager';

/** The service account of each controller, as in kube-controller-manager. */
const ACCOUNTS: Readonly<Record<string, string>> = {
  'bootstrap-signer-controller': 'bootstrap-signer',
  'certificatesigningrequest-approving-controller': 'certificate-controller',
  'certificatesigningrequest-cleaner-controller': 'certificate-controller',
  'certificatesigningrequest-signing-controller': 'certificate-controller',
  'clusterrole-aggregation-controller': 'clusterrole-aggregation-controller',
  'garbage-collector-controller': 'generic-garbage-collector',
  'legacy-serviceaccount-token-cleaner-controller': 'legacy-service-account-token-cleaner',
  'namespace-controller': 'namespace-controller',
  'persistentvolume-protection-controller': 'pv-protection-controller',
  'persistentvolumeclaim-protection-controller': 'pvc-protection-controller',
  'resourcequota-controller': 'resourcequota-controller',
  'root-ca-certificate-publisher-controller': 'root-ca-cert-publisher',
  'serviceaccount-controller': 'service-account-controller',
  'token-cleaner-controller': 'token-cleaner',
  'validatingadmissionpolicy-status-controller': 'validatingadmissionpolicy-status-controller',
};

/** Starts a controller with its clients and a function that reports errors. Returns at once. */
type Starter = (clients: LoopbackClients, failed: (where: string, error: unknown) => void) => void;

/**
 * Runs the controllers, on one of the servers that share a store at a time: the one that holds the Lease. Returns at once if the store may be
 * shared, and else when they have started. `also` starts what else runs there. `left` resolves when this server has given the Lease back, after the signal.
 */
export async function runControllers(
  context: HookOptions,
  also: (context: HookOptions) => void,
): Promise<{ readonly left: Promise<void> }> {
  const { options, clock, signal, clients } = context;
  if (options.storageBackend === 'embedded') {
    also(context);
    await new Controllers(context).start();
    return { left: Promise.resolve() };
  }
  const failed = errorLogger(context, 'controllers');
  const lease = new ElectionLease({
    leases: localLeases(clients(MANAGER)),
    clock,
    namespace: SYSTEM,
    name: LEASE,
    identity: `${hostname()}_${randomUUID()}`,
    onError: (error) => failed('cannot renew the Lease', error),
  });
  const left = lease.contend(signal, async (leading) => {
    context.logger.info('this server runs the controllers');
    // Every loop adds a listener to this signal.
    setMaxListeners(0, leading);
    also({ ...context, signal: leading });
    await new Controllers({ ...context, signal: leading })
      .start()
      .catch((error: unknown) => failed('cannot start', error));
    await aborted(leading);
    if (!signal.aborted) context.logger.warn('this server no longer runs the controllers');
  });
  return { left };
}

/** Starts the enabled controllers, each as its own service account with --use-service-account-credentials. */
class Controllers {
  constructor(private readonly context: HookOptions) {}

  async start(): Promise<void> {
    const { options } = this.context;
    const enabled = enabledControllers(options.controllers);
    for (const [name, starter] of Object.entries(this.starters())) {
      if (enabled.has(name)) starter(await this.accountOf(name), errorLogger(this.context, name));
    }
  }

  /** Retries until the store answers. Logs only the first failure. */
  private async accountOf(controller: string): Promise<LoopbackClients> {
    const { clock, signal } = this.context;
    for (let isLogged = false; ; isLogged = true) {
      try {
        return await this.clientsOf(controller);
      } catch (error) {
        if (signal.aborted || !(error instanceof ApiError && (error.code >= 500 || error.code === 429))) throw error;
        if (!isLogged) errorLogger(this.context, controller)('cannot read its service account', error);
        await sleep(clock, RETRY_MILLIS, signal);
      }
    }
  }

  private async clientsOf(controller: string): Promise<LoopbackClients> {
    const { options, clients } = this.context;
    const account = ACCOUNTS[controller];
    // The token controller has no account: only the server itself may hold the signing key.
    if (!options.useServiceAccountCredentials || account === undefined) return clients(MANAGER);
    const accounts = clients(MANAGER).for({ group: '', resource: 'serviceaccounts' });
    const metadata = { name: account, namespace: SYSTEM };
    const made =
      (await accounts.get(SYSTEM, account)) ??
      (await accounts.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }));
    const user: UserInfo = {
      name: `${SERVICE_ACCOUNT_PREFIX}${SYSTEM}:${account}`,
      uid: made.metadata.uid ?? '',
      groups: ['system:serviceaccounts', `system:serviceaccounts:${SYSTEM}`, 'system:authenticated'],
      extra: {},
    };
    return clients(MANAGER, user);
  }

  private starters(): Readonly<Record<string, Starter>> {
    const { clock, mergeTypes, registry, signal } = this.context;
    return {
      'namespace-controller': (local, failed) => {
        const namespaces = local.for({ group: '', resource: 'namespaces' });
        new NamespaceController({
          client: namespaces,
          registry,
          clock,
          deleteAll: (api, namespace) => local.for(api.served.groupResource).deleteCollection(namespace),
          finalize: (namespace) => namespaces.updateSubresource(namespace, 'finalize'),
          onError: failed,
        }).start(signal);
      },
      'garbage-collector-controller': (local, onError) =>
        new GarbageCollector({ registry, clients: local, clock, onError }).start(signal),
      'clusterrole-aggregation-controller': (local, failed) => {
        const client = local.for({ group: RBAC, resource: 'clusterroles' });
        new ClusterRoleAggregation(client, clock, (text) => failed('', text)).start(signal);
      },
      'resourcequota-controller': (local, onError) =>
        new ResourceQuotaController({ registry, clients: local, clock, onError }).start(signal),
      'validatingadmissionpolicy-status-controller': (local, failed) => {
        const client = local.for({ group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies' });
        new ValidatingPolicyStatus({ client, types: knownTypes(registry, mergeTypes), clock, failed }).start(signal);
      },
      ...this.storageStarters(),
      ...this.accountStarters(),
      ...this.certificateStarters(),
    };
  }

  private storageStarters(): Readonly<Record<string, Starter>> {
    const { clock, signal } = this.context;
    const type = (resource: string): GroupResource => ({ group: '', resource });
    return {
      'persistentvolumeclaim-protection-controller': (local, onError) => {
        const pods = local.for(type('pods'));
        const protection = new StorageProtection({
          client: local.for(type('persistentvolumeclaims')),
          queue: 'pvcprotection',
          finalizer: 'kubernetes.io/pvc-protection',
          clock,
          isUsed: async ({ metadata: { namespace = '', name = '' } }) =>
            (await pods.list(namespace)).some((pod) => claimsInUse(pod).includes(name)),
          onError,
        });
        const reconsider = (pod: KubeObject): void => {
          for (const claim of claimsNamed(pod)) protection.reconsider(pod.metadata.namespace ?? '', claim);
        };
        pods.watch({ upsert: reconsider, delete: reconsider }, signal);
        protection.start(signal);
      },
      'persistentvolume-protection-controller': (local, onError) => {
        new StorageProtection({
          client: local.for(type('persistentvolumes')),
          queue: 'pvprotection',
          finalizer: 'kubernetes.io/pv-protection',
          clock,
          isUsed: (volume) => Promise.resolve(stringAt(objectAt(volume, 'status'), 'phase') === 'Bound'),
          onError,
        }).start(signal);
      },
    };
  }

  private accountStarters(): Readonly<Record<string, Starter>> {
    const { clock, signal, clients, authorities, options } = this.context;
    const { rootCa, signer, serverUrl } = authorities;
    return {
      'serviceaccount-controller': (local, failed) => defaultServiceAccounts(local, clock, failed).start(signal),
      'serviceaccount-token-controller': (local, onError) =>
        new ServiceAccountTokens({ clients: local, clock, signer, rootCa, onError }).start(signal),
      'root-ca-certificate-publisher-controller': (local, failed) =>
        rootCaPublisher(rootCa, local, clock, failed).start(signal),
      'bootstrap-signer-controller': (local, onError) => {
        const signing = new BootstrapSigner({ clients: local, clock, server: serverUrl(), rootCa, onError });
        signing.start(clients(MANAGER), signal);
      },
      'legacy-serviceaccount-token-cleaner-controller': (local, onError) => {
        const periodMillis = options.legacyServiceAccountTokenCleanUpPeriod;
        void new LegacyTokenCleaner({ clients: local, readers: clients(MANAGER), clock, periodMillis, onError }).run(
          signal,
        );
      },
      'token-cleaner-controller': (local, failed) => new TokenCleaner(local, clock, failed).start(signal),
    };
  }

  private certificateStarters(): Readonly<Record<string, Starter>> {
    const { clock, signal, authorization, authorities } = this.context;
    const requests = (local: LoopbackClients): LoopbackClient =>
      local.for({ group: 'certificates.k8s.io', resource: 'certificatesigningrequests' });
    return {
      'certificatesigningrequest-approving-controller': (local, failed) => {
        const client = requests(local);
        const { authorizer } = authorization;
        forEachRequest(client, clock, (request) => approveRequest(request, authorizer, client, signal), failed, signal);
      },
      'certificatesigningrequest-signing-controller': (local, failed) => {
        const client = requests(local);
        const { clientCa } = authorities;
        forEachRequest(client, clock, (request) => signApproved(request, clientCa, client, clock), failed, signal);
      },
      'certificatesigningrequest-cleaner-controller': (local, failed) =>
        void cleanRequests(requests(local), clock, failed, signal),
    };
  }
}

/** Returns a function that logs the failures of a loop, which retries on its own. */
export function errorLogger(
  { logger }: Pick<HookOptions, 'logger'>,
  what: string,
): (where: string, error: unknown) => void {
  return (where, error) => logger.warn(`${what}: ${where}`, { error: messageOf(error) });
}
