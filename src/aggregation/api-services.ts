import type { X509Certificate } from 'node:crypto';
import { deepEqual, type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import { type Clock, sleep, type Timer } from '../util/clock.js';
import { WorkQueue } from '../util/work-queue.js';
import type { GroupRoute } from '../apimachinery/meta/adopted-definitions.js';
import { CaBundles, holds } from './ca-bundles.js';
import type { Owner } from './owner.js';

const PATH = '/apis/apiregistration.k8s.io/v1/apiservices';
const MANAGED_BY = 'app.kubernetes.io/managed-by';
const MANAGER = 'annex';
/** kube-apiserver keeps those with it: they are those of CustomResourceDefinitions. */
const AUTOMANAGED = 'kube-aggregator.kubernetes.io/automanaged';
/** Identifies what the group version serves: the cluster's API server reloads discovery and OpenAPI when the APIService changes, else once a minute. */
const FINGERPRINT = 'kubeannex.io/fingerprint';
/** After this the other replicas serve what has changed, too: whichever is asked gives the new documents. */
const ANNOUNCE_MILLIS = 300;
/** How long the start waits for the cluster at most. */
const FIRST_MILLIS = 10_000;
const TYPE = { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService' };
/** As kube-apiserver registers CustomResourceDefinitions. */
const GROUP_PRIORITY_MINIMUM = 1000;
const FIRST_VERSION_PRIORITY = 100;

interface ServiceReference {
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
  /** Which server gets the requests for a group of an adoption. */
  routeOf(group: string): GroupRoute;
  /** The APIServices cannot be read: nothing is known of any group version. */
  unreadable(error: unknown): void;
  /** They can be read (again), and none waits to be written. */
  inOrder(): void;
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
  private readonly bundles: CaBundles;
  private synced = false;
  /** Names of those that could not be written. */
  private readonly failing = new Set<string>();
  /** What was served at the start and has not been looked at yet. */
  private first: Set<string> | undefined;
  private firstDone: () => void = () => undefined;
  /** Names whose fingerprint is to be written. Those that others write are let be: one that lags behind must not take them back. */
  private readonly announced = new Set<string>();
  private announcement: Timer | undefined;

  constructor(private readonly options: ApiServicesOptions) {
    this.bundles = new CaBundles(options.clock);
    this.queue = new WorkQueue({
      name: 'api_services',
      clock: options.clock,
      work: (name) => this.sync(name),
      workers: 2,
      onError: (name, error) => {
        if (error instanceof ClusterError && error.status === 409) return;
        const [version, group] = split(name);
        this.failing.add(name);
        options.failed(group, version, error);
        this.looked(name);
      },
    });
  }

  /**
   * Resolves when everything that is served now has been looked at, so that the cluster's API server trusts this server before it is
   * sent requests; or a little later where the cluster does not let that be done.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.first = new Set(this.options.served().map(({ group, version }) => `${version}.${group}`));
    const done = new Promise<void>((resolve) => (this.firstDone = resolve));
    this.follow(signal);
    if (this.first.size === 0) return;
    await Promise.race([done, sleep(this.options.clock, FIRST_MILLIS, signal)]);
  }

  private follow(signal: AbortSignal): void {
    const listener = {
      upsert: (service: KubeObject) => {
        this.existing.set(nameOf(service), service);
        this.queue.add(nameOf(service));
      },
      delete: (service: KubeObject) => {
        this.existing.delete(nameOf(service));
        this.bundles.forget(nameOf(service));
        this.queue.add(nameOf(service));
      },
      replaced: (services: readonly KubeObject[]) => {
        this.existing.clear();
        for (const service of services) this.existing.set(nameOf(service), service);
        this.synced = true;
        this.announce();
      },
      heard: () => {
        if (this.failing.size === 0) this.options.inOrder();
      },
    };
    void this.options.client.follow(PATH, listener, signal, (error) => {
      this.options.unreadable(error);
      this.firstDone();
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

  /** Whether clients that read the APIServices accept, as far as is known, what the CA has issued. */
  carry(authority: X509Certificate): boolean {
    if (!this.synced) return false;
    return this.options.served().every(({ group, version }) => {
      const service = this.existing.get(`${version}.${group}`);
      if (service === undefined || !isOurs(service)) return true;
      return holds(stringAt(objectAt(service, 'spec'), 'caBundle') ?? '', authority);
    });
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

  private looked(name: string): void {
    if (this.first?.delete(name) === true && this.first.size === 0) this.firstDone();
  }

  private async sync(name: string): Promise<void> {
    if (!this.synced || !this.options.owner.ready) return;
    await this.bring(name);
    if (this.failing.delete(name) && this.failing.size === 0) this.options.inOrder();
    this.looked(name);
  }

  private async bring(name: string): Promise<void> {
    const wanted = this.options.served().find(({ group, version }) => `${version}.${group}` === name);
    const found = this.existing.get(name);
    const route = this.options.routeOf(split(name)[1]);
    if (route === 'Cluster') {
      // Not deleted: requests would find nothing until kube-apiserver has made its own.
      if (found !== undefined && isOurs(found))
        await this.options.client.must('PUT', `${PATH}/${name}`, givenBack(found));
      return;
    }
    if (wanted === undefined) {
      if (found !== undefined && isOurs(found)) await this.options.client.must('DELETE', `${PATH}/${name}`);
      return;
    }
    const { group, version } = wanted;
    const existing = route === 'Annex' && found !== undefined && isAutomanaged(found) ? takenOver(found) : found;
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
    const known = this.existing.get(name);
    const same =
      base.metadata.labels === known?.metadata.labels &&
      ownerReferences === before &&
      deepEqual(objectAt(base, 'spec'), spec);
    if (existing !== undefined && same && !news) return undefined;
    const metadata = { ...base.metadata, annotations: { ...annotations, [FINGERPRINT]: wanted.fingerprint } };
    return { ...base, metadata: ownerReferences.length === 0 ? metadata : { ...metadata, ownerReferences }, spec };
  }

  private spec({ group, version, rank }: ServedGroupVersion, existing: KubeObject | undefined): JsonObject {
    const { service } = this.options;
    const name = `${version}.${group}`;
    const own = Buffer.from(this.options.caBundle(), 'utf8').toString('base64');
    const has = stringAt(objectAt(existing, 'spec'), 'caBundle') ?? '';
    return {
      service: { namespace: service.namespace, name: service.name, port: service.port },
      group,
      version,
      caBundle: this.bundles.wanted(name, has, own, (millis) => {
        this.queue.addAfter(name, millis);
      }),
      groupPriorityMinimum: GROUP_PRIORITY_MINIMUM,
      versionPriority: Math.max(1, FIRST_VERSION_PRIORITY - rank),
    };
  }
}

const nameOf = (service: KubeObject): string => service.metadata.name ?? '';

const isAutomanaged = (service: KubeObject): boolean =>
  stringAt(service.metadata.labels, AUTOMANAGED) !== undefined &&
  objectAt(objectAt(service, 'spec'), 'service') === undefined;

/** The label goes together with the spec: an APIService that has it is put back within a second. */
function takenOver(service: KubeObject): KubeObject {
  const { [AUTOMANAGED]: _, ...labels } = service.metadata.labels ?? {};
  return { ...service, metadata: { ...service.metadata, labels: { ...labels, [MANAGED_BY]: MANAGER } } };
}

/** As kube-apiserver makes it for a CustomResourceDefinition. */
function givenBack(service: KubeObject): KubeObject {
  const { [MANAGED_BY]: _, ...labels } = service.metadata.labels ?? {};
  const { ownerReferences: _owners, annotations: _annotations, ...metadata } = service.metadata;
  const { group, version, groupPriorityMinimum, versionPriority } = objectAt(service, 'spec') ?? {};
  const spec = { group, version, groupPriorityMinimum, versionPriority } as JsonObject;
  return { ...service, metadata: { ...metadata, labels: { ...labels, [AUTOMANAGED]: 'true' } }, spec };
}

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
