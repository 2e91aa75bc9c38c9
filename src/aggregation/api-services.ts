import { deepEqual, type JsonObject, objectAt, stringAt } from '../apimachinery/json.js';
import type { KubeObject } from '../apimachinery/meta.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import type { Clock, Timer } from '../util/clock.js';
import { pemBlocks } from '../util/der.js';
import { WorkQueue } from '../util/work-queue.js';
import type { Owner } from './owner.js';

const PATH = '/apis/apiregistration.k8s.io/v1/apiservices';
const MANAGED_BY = 'app.kubernetes.io/managed-by';
const MANAGER = 'annex';
/** What the group version serves: the cluster's API server reads its discovery and OpenAPI anew when the APIService changes, else once a minute. */
const FINGERPRINT = 'kubeannex.io/fingerprint';
/** After this the other replicas serve what has changed, too: whichever is asked gives the new documents. */
const ANNOUNCE_MILLIS = 300;
const TYPE = { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService' };
/** As kube-apiserver registers CustomResourceDefinitions. */
const GROUP_PRIORITY_MINIMUM = 1000;
const FIRST_VERSION_PRIORITY = 100;

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** A group version that should be registered, with its place among the group's versions (0 is preferred). */
export interface ServedGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly rank: number;
  /** Equal for equal discovery and OpenAPI documents, on every replica. */
  readonly fingerprint: string;
}

export interface ApiServicesOptions {
  readonly client: Pick<ClusterClient, 'follow' | 'must'>;
  readonly clock: Clock;
  readonly service: ServiceReference;
  /** PEM of the CA of the serving certificate. */
  caBundle(): string;
  /** With which the APIServices go. */
  readonly owner: Owner;
  /** What is served now. */
  served(): readonly ServedGroupVersion[];
  /** The APIServices cannot be read: nothing is known of any group version. */
  unreadable(error: unknown): void;
  /** They can be read (again). */
  readable(): void;
  /** The group version could not be registered; it will be tried again. */
  failed(group: string, version: string, error: unknown): void;
  /** The group version is registered as it should be. */
  registered(group: string, version: string): void;
  /** The group version belongs to somebody else: a definition of the cluster, another server. */
  refused(group: string, version: string, why: string): void;
}

/**
 * Keeps one APIService for each served group version: created, brought up to date, repaired when somebody changes it, and removed when
 * the group version is no longer served. Those of others are left alone. Nothing is done at the end of the process: a restart must
 * not take the types out of the cluster.
 */
export class ApiServices {
  private readonly existing = new Map<string, KubeObject>();
  private readonly queue: WorkQueue;
  private synced = false;
  /**
   * Names whose fingerprint and CAs are to be written. Those that others write are let be, as long as nothing that is needed is
   * missing: one that lags behind must not take them back.
   */
  private readonly announced = new Set<string>();
  private announcement: Timer | undefined;

  constructor(private readonly options: ApiServicesOptions) {
    this.queue = new WorkQueue({
      clock: options.clock,
      work: (name) => this.sync(name),
      workers: 2,
      onError: (name, error) => {
        if (error instanceof ClusterError && error.status === 409) return;
        const [version, group] = split(name);
        options.failed(group, version, error);
      },
    });
  }

  start(signal: AbortSignal): void {
    const listener = {
      upsert: (service: KubeObject) => {
        this.existing.set(nameOf(service), service);
        this.queue.add(nameOf(service));
      },
      delete: (service: KubeObject) => {
        this.existing.delete(nameOf(service));
        this.queue.add(nameOf(service));
      },
      replaced: (services: readonly KubeObject[]) => {
        this.existing.clear();
        for (const service of services) this.existing.set(nameOf(service), service);
        this.synced = true;
        this.options.readable();
        this.announce();
      },
    };
    void this.options.client.follow(PATH, listener, signal, (error) => {
      this.options.unreadable(error);
    });
    signal.addEventListener('abort', () => void this.queue.stop(), { once: true });
  }

  /** What is served has changed. */
  servedChanged(): void {
    this.changed();
    this.announcement ??= this.options.clock.setTimer(ANNOUNCE_MILLIS, () => {
      this.announcement = undefined;
      this.announce();
    });
  }

  /** The CAs of the serving certificate have changed. */
  certificatesChanged(): void {
    this.announce();
  }

  /** What is known of all of them is to be looked at again. */
  changed(): void {
    if (!this.synced) return;
    for (const { group, version } of this.options.served()) this.queue.add(`${version}.${group}`);
    for (const [name, service] of this.existing) if (isOurs(service)) this.queue.add(name);
  }

  private announce(): void {
    for (const { group, version } of this.options.served()) this.announced.add(`${version}.${group}`);
    this.changed();
  }

  private async sync(name: string): Promise<void> {
    if (!this.synced || !this.options.owner.ready) return;
    const wanted = this.options.served().find(({ group, version }) => `${version}.${group}` === name);
    const existing = this.existing.get(name);
    if (wanted === undefined) {
      if (existing !== undefined && isOurs(existing)) await this.options.client.must('DELETE', `${PATH}/${name}`);
      return;
    }
    const { group, version } = wanted;
    if (existing !== undefined && !isOurs(existing)) {
      this.options.refused(group, version, `the APIService ${name} belongs to ${whose(existing)}`);
      return;
    }
    const wish = this.wish(name, wanted, existing);
    if (wish === undefined) this.options.registered(group, version);
    else if (existing === undefined) await this.options.client.must('POST', PATH, wish);
    else await this.options.client.must('PUT', `${PATH}/${name}`, wish);
    this.announced.delete(name);
  }

  /** What should be there; undefined where it is. */
  private wish(name: string, wanted: ServedGroupVersion, existing: KubeObject | undefined): KubeObject | undefined {
    const base: KubeObject = existing ?? { ...TYPE, metadata: { name, labels: { [MANAGED_BY]: MANAGER } } };
    const spec = this.spec(wanted, existing);
    const before = base.metadata.ownerReferences ?? [];
    const ownerReferences = this.options.owner.among(before);
    const annotations = base.metadata.annotations ?? {};
    const news = this.announced.has(name) && annotations[FINGERPRINT] !== wanted.fingerprint;
    const same = ownerReferences === before && deepEqual(objectAt(base, 'spec'), spec);
    if (existing !== undefined && same && !news) return undefined;
    const metadata = { ...base.metadata, annotations: { ...annotations, [FINGERPRINT]: wanted.fingerprint } };
    return { ...base, metadata: ownerReferences.length === 0 ? metadata : { ...metadata, ownerReferences }, spec };
  }

  private spec({ group, version, rank }: ServedGroupVersion, existing: KubeObject | undefined): JsonObject {
    const { service } = this.options;
    const own = Buffer.from(this.options.caBundle(), 'utf8').toString('base64');
    const has = stringAt(objectAt(existing, 'spec'), 'caBundle') ?? '';
    const enough = !this.announced.has(`${version}.${group}`) && covers(has, own);
    return {
      service: { namespace: service.namespace, name: service.name, port: service.port },
      group,
      version,
      caBundle: enough ? has : own,
      groupPriorityMinimum: GROUP_PRIORITY_MINIMUM,
      versionPriority: Math.max(1, FIRST_VERSION_PRIORITY - rank),
    };
  }
}

/** Whether who trusts the first bundle accepts what those of the second have issued. */
function covers(bundle: string, wanted: string): boolean {
  if (bundle === wanted) return true;
  const [has, needs] = [bundle, wanted].map((text) => {
    const blocks = pemBlocks(Buffer.from(text, 'base64').toString('utf8'), 'CERTIFICATE');
    return blocks.map((block) => block.toString('base64'));
  });
  return needs !== undefined && needs.length > 0 && needs.every((one) => has?.includes(one));
}

const nameOf = (service: KubeObject): string => service.metadata.name ?? '';

/** `<version>.<group>`; versions have no dots. */
function split(name: string): [version: string, group: string] {
  const dot = name.indexOf('.');
  return [name.slice(0, dot), name.slice(dot + 1)];
}

/** The cluster registers its own types, and marks those of definitions. */
function whose(service: KubeObject): string {
  if (objectAt(objectAt(service, 'spec'), 'service') !== undefined) return 'another server';
  return 'the cluster itself, which serves a CustomResourceDefinition or a type of its own there';
}

const isOurs = (service: KubeObject): boolean => stringAt(service.metadata.labels, MANAGED_BY) === MANAGER;
