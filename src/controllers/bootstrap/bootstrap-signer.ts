import { createHash, createHmac } from 'node:crypto';
import { ApiError } from '../../apimachinery/meta/errors.js';
import { deepEqual, type JsonObject, objectAt } from '../../apimachinery/json/json.js';
import type { LoopbackClient, LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { expirationOf, isBootstrapToken, LONGEST_WAIT_MILLIS, signingToken } from './bootstrap-tokens.js';
import { createIfMissing } from '../create-if-missing.js';
import { swallowIgnorableErrors } from '../errors.js';
import { ObjectCache } from '../object-cache.js';

const NAMESPACE = 'kube-public';
const NAME = 'cluster-info';
const SIGNATURE = 'jws-kubeconfig-';
const READER = 'kubeadm:bootstrap-signer-clusterinfo';
const RBAC = 'rbac.authorization.k8s.io';
/** The annotation of cluster-info with the digest of what was published: while it matches, no other client has changed the content. */
const FINGERPRINT = 'kubeannex.io/fingerprint';
const WORK = 'sign';

interface Token {
  readonly id: string;
  readonly secret: string;
  readonly end: number;
}

const fingerprint = (content: string): string => createHash('sha256').update(content).digest('hex');
const base64url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');

/** Returns a detached JWS over the content, as holders of the token compute it. */
function detachedSignature(content: string, id: string, secret: string): string {
  const header = base64url(`{"alg":"HS256","kid":${JSON.stringify(id)}}`);
  const signature = createHmac('sha256', secret)
    .update(`${header}.${base64url(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
}

export interface BootstrapSignerOptions {
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  /** The URL of the server, and the certificates to verify it. */
  readonly server: string;
  readonly rootCa: string;
  onError(what: string, error: unknown): void;
}

/** Returns the kubeconfig that a client needs before it knows anything about the cluster. */
function clusterInfoKubeconfig(server: string, rootCa: string): string {
  return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${Buffer.from(rootCa, 'utf8').toString('base64')}
    server: ${server}
  name: ""
contexts: null
current-context: ""
kind: Config
users: null
`;
}

/** Publishes cluster-info for anonymous clients, signed with every bootstrap token that may sign. */
export class BootstrapSigner {
  private readonly queue: WorkQueue;
  private readonly tokens: ObjectCache<Token>;
  private readonly info: ObjectCache<true>;
  private readonly client: LoopbackClient;

  constructor(private readonly options: BootstrapSignerOptions) {
    this.client = options.clients.for({ group: '', resource: 'configmaps' });
    this.queue = new WorkQueue({
      name: 'bootstrap_signer_queue',
      clock: options.clock,
      reconcile: () => this.sign(),
      onError: (_key, error) => options.onError(NAME, error),
    });
    const changed = (): void => this.queue.add(WORK);
    this.tokens = new ObjectCache<Token>({
      keep: (secret) => {
        const token = isBootstrapToken(secret) ? signingToken(secret) : undefined;
        return token === undefined ? undefined : { ...token, end: expirationOf(secret) };
      },
      changed,
    });
    this.info = new ObjectCache<true>({
      only: NAME,
      keep: ({ metadata }) => (metadata.namespace === NAMESPACE && metadata.name === NAME ? true : undefined),
      changed,
    });
  }

  /** `publisher` creates cluster-info and the role for its readers; the controller itself only signs. */
  start(publisher: LoopbackClients, signal: AbortSignal): void {
    void this.publish(publisher).catch((error: unknown) => this.options.onError(NAME, error));
    this.tokens.start(this.options.clients.for({ group: '', resource: 'secrets' }), signal);
    this.info.start(this.client, signal);
    this.queue.stopOn(signal);
  }

  private async publish(clients: LoopbackClients): Promise<void> {
    const metadata = { name: READER, namespace: NAMESPACE };
    const apiVersion = `${RBAC}/v1`;
    const role = {
      apiVersion,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [NAME], verbs: ['get'] }],
    };
    const roleRef = { apiGroup: RBAC, kind: 'Role', name: READER };
    const subjects = [{ apiGroup: RBAC, kind: 'User', name: 'system:anonymous' }];
    const kubeconfig = clusterInfoKubeconfig(this.options.server, this.options.rootCa);
    const info = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: NAME, namespace: NAMESPACE, annotations: { [FINGERPRINT]: fingerprint(kubeconfig) } },
      data: { kubeconfig },
    };
    if (!(await createIfMissing(clients.for({ group: '', resource: 'configmaps' }), info)))
      await this.renew(clients, kubeconfig);
    await createIfMissing(clients.for({ group: RBAC, resource: 'roles' }), role);
    await createIfMissing(clients.for({ group: RBAC, resource: 'rolebindings' }), {
      apiVersion,
      kind: 'RoleBinding',
      metadata: { ...metadata },
      roleRef,
      subjects,
    });
  }

  /** Addresses and certificates change between starts; edits by users are kept. */
  private async renew(clients: LoopbackClients, kubeconfig: string): Promise<void> {
    const client = clients.for({ group: '', resource: 'configmaps' });
    for (;;) {
      const info = await client.get(NAMESPACE, NAME);
      const data = objectAt(info, 'data');
      const content = data?.['kubeconfig'];
      if (info === undefined || typeof content !== 'string' || content === kubeconfig) return;
      const { annotations } = info.metadata;
      if (annotations?.[FINGERPRINT] !== fingerprint(content)) return;
      const metadata = { ...info.metadata, annotations: { ...annotations, [FINGERPRINT]: fingerprint(kubeconfig) } };
      try {
        await client.update({ ...info, metadata, data: { ...data, kubeconfig } });
        return;
      } catch (error) {
        // Signatures may be written meanwhile.
        if (!(error instanceof ApiError && error.reason === 'Conflict')) throw error;
      }
    }
  }

  private async sign(): Promise<void> {
    await Promise.all([this.tokens.synced, this.info.synced]);
    const now = this.options.clock.now();
    const valid = Array.from(this.tokens.entries(), ([, token]) => token).filter(({ end }) => end > now);
    const next = Math.min(...valid.map(({ end }) => end - now));
    if (next < Infinity) this.queue.addAfter(WORK, Math.min(next, LONGEST_WAIT_MILLIS));
    const info = await this.client.get(NAMESPACE, NAME);
    const data = objectAt(info, 'data');
    const content = data?.['kubeconfig'];
    if (info === undefined || data === undefined || typeof content !== 'string') return;
    const kept = Object.entries(data).filter(([key]) => !key.startsWith(SIGNATURE));
    const signed = valid.map(({ id, secret }) => [`${SIGNATURE}${id}`, detachedSignature(content, id, secret)]);
    const wanted = Object.fromEntries([...kept, ...signed]) as JsonObject;
    if (deepEqual(data, wanted)) return;
    info['data'] = wanted;
    await swallowIgnorableErrors(() => this.client.update(info));
  }
}
