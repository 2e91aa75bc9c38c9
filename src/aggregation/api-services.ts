import type { X509Certificate } from 'node:crypto';
import { deepEqual, type JsonObject, objectAt, stringAt, textOf } from '../apimachinery/json/json.js';
import { type KubeObject, nameOf } from '../apimachinery/meta/meta.js';
import {
  API_SERVICES as PATH,
  AUTOMANAGED,
  deleteApiService,
  isAutomanaged,
  serviceOf,
  type GroupRoute,
} from '../client/api-services.js';
import { ClusterError, type ClusterClient } from '../client/cluster-client.js';
import { type Clock, sleep, type Timer } from '../util/clock.js';
import { withTimeout } from '../util/with-timeout.js';
import { WorkQueue } from '../util/work-queue.js';
import { CaBundles, bundleContains, marked } from './ca-bundles.js';
import type { Detached } from './detached.js';
import type { Owner } from './owner.js';

const MANAGED_BY = 'app.kubernetes.io/managed-by';
const MANAGER = 'annex';
/**
 * Identifies what the group version serves: the cluster's API server reloads discovery and OpenAPI when the APIService changes, or else
 * once a minute.
 */
const FINGERPRINT = 'kubeannex.io/fingerprint';
/** By then, the other replicas serve the change, too, so that any replica returns the new documents. */
const ANNOUNCE_MILLIS = 300;
/** The maximum time that startup waits for the cluster. */
const FIRST_MILLIS = 10_000;
const TYPE = { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService' };
/** The same as for CustomResourceDefinitions that kube-apiserver registers. */
const GROUP_PRIORITY_MINIMUM = 1000;
const FIRST_VERSION_PRIORITY = 100;

interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** Why a group version cannot be registered: the cluster itself serves it, or somebody else's APIService is in the way. */
export interface Refusal {
  readonly reason: 'GroupVersionTaken' | 'GroupTaken' | 'Conflict';
  readonly message: string;
}

/** A group version to register, with its rank among the group's versions (0 is preferred). */
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
  /** Groups in which this release may add versions to those of the cluster or of another server. */
  readonly allowedGroups: readonly string[];
  /** The owner of the APIServices. */
  readonly owner: Owner;
  /** Nothing is registered while Annex is detached from the cluster. */
  readonly detached: Pick<Detached, 'mayRegister' | 'confirm'>;
  /** Returns the group versions served now. */
  served(): readonly ServedGroupVersion[];
  /** Returns which server gets the requests for a group of an adoption. */
  routeOf(group: string): GroupRoute;
  /** Called when the APIServices cannot be read: the state of all group versions is unknown. */
  unreadable(error: unknown): void;
  /** Called when they can be read (again) and no failed write is pending. */
  inOrder(): void;
  /** Called when the group version could not be registered; it will be retried. */
  failed(group: string, version: string, error: unknown): void;
  /** Called when the group version is registered as it should be. */
  registered(group: string, version: string): void;
  /** Called when the group version belongs to a definition of the cluster, to another release of Annex, or to another server. */
  refused(group: string, version: string, refusal: Refusal): void;
}

/**
 * Maintains one APIService for each served group version: creates it, updates it, repairs it when another client changes it, and deletes it
 * when the group version is no longer served. APIServices of others are left alone. Nothing is deleted when the process ends: a restart
 * must not take the types out of the cluster.
 */
export class ApiServices {
  private readonly existing = new Map<string, KubeObject>();
  private readonly queue: WorkQueue;
  private readonly bundles: CaBundles;
  private synced = false;
  /** The names that this replica has registered: it makes them anew whatever else there is of the group. Bounded by the served versions. */
  private readonly held = new Set<string>();
  /** The names of APIServices that could not be written. */
  private readonly failing = new Set<string>();
  /** The APIServices served at startup that have not been reconciled yet. */
  private first: Set<string> | undefined;
  private firstDone: () => void = () => undefined;
  /** Names whose fingerprint this replica writes. Fingerprints of other replicas are left alone: a replica that lags behind must not revert them. */
  private readonly announced = new Set<string>();
  private announcement: Timer | undefined;

  constructor(private readonly options: ApiServicesOptions) {
    this.bundles = new CaBundles(options.clock);
    this.queue = new WorkQueue({
      name: 'api_services',
      clock: options.clock,
      reconcile: (name) => this.sync(name),
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
   * Resolves when everything served now has been reconciled, so that the cluster's API server trusts this server before it sends requests
   * to it; or after a timeout if the cluster does not allow it.
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
        // It may have been what kept the other versions of its group from being registered.
        const [, group] = split(nameOf(service));
        for (const one of this.options.served()) if (one.group === group) this.queue.add(`${one.version}.${group}`);
      },
      replaced: (services: readonly KubeObject[]) => {
        this.existing.clear();
        for (const service of services) this.existing.set(nameOf(service), service);
        this.synced = true;
        this.announce();
      },
      responded: () => {
        if (this.failing.size === 0) this.options.inOrder();
      },
    };
    void this.options.client.follow(PATH, listener, signal, (error) => {
      this.options.unreadable(error);
      this.firstDone();
    });
    this.queue.stopOn(signal);
  }

  /** Called when the served group versions have changed. */
  servedChanged(): void {
    this.changed();
    this.announcement ??= this.options.clock.setTimer(ANNOUNCE_MILLIS, () => {
      this.announcement = undefined;
      this.announce();
    });
  }

  /** Reports whether, as far as known, clients that read the APIServices accept certificates that the CA has issued. */
  isTrusted(authority: X509Certificate): boolean {
    if (!this.synced) return false;
    return this.options.served().every(({ group, version }) => {
      const service = this.existing.get(`${version}.${group}`);
      if (service === undefined || !this.isOwn(service)) return true;
      return bundleContains(stringAt(objectAt(service, 'spec'), 'caBundle') ?? '', authority);
    });
  }

  /** Requeues all APIServices. */
  changed(): void {
    if (!this.synced) return;
    for (const { group, version } of this.options.served()) this.queue.add(`${version}.${group}`);
    for (const [name, service] of this.existing) if (this.isOwn(service)) this.queue.add(name);
  }

  /**
   * Makes each kube-apiserver connect anew to the Service: it has a connection for each bundle, byte by byte, and never forgets one, so a
   * line at the end has bytes that no bundle had before.
   */
  async reconnect(): Promise<void> {
    const mark = `connected anew ${new Date(this.options.clock.now()).toISOString()}`;
    for (const [name, service] of this.existing) {
      if (!this.isOwn(service)) continue;
      const spec = objectAt(service, 'spec') ?? {};
      const caBundle = marked(stringAt(spec, 'caBundle') ?? '', mark);
      try {
        await this.options.client.must('PUT', `${PATH}/${name}`, { ...service, spec: { ...spec, caBundle } });
      } catch (error) {
        // Another replica was faster.
        if (!(error instanceof ClusterError && error.status === 409)) throw error;
      }
    }
  }

  /** Reports whether kube-apiserver reaches a replica: it asks one for a group version. */
  async isReached(millis: number): Promise<boolean> {
    const [name] = [...this.existing].find(([, service]) => this.isOwn(service)) ?? [];
    if (name === undefined) return true;
    const [version, group] = split(name);
    const asked = this.options.client.must('GET', `/apis/${group}/${version}`).then(
      () => true,
      () => false,
    );
    return withTimeout(this.options.clock, millis, asked).catch(() => false);
  }

  private announce(): void {
    for (const { group, version } of this.options.served()) this.announced.add(`${version}.${group}`);
    this.changed();
  }

  private looked(name: string): void {
    if (this.first?.delete(name) === true && this.first.size === 0) this.firstDone();
  }

  private async sync(name: string): Promise<void> {
    if (!this.synced || !this.options.owner.ready || !this.options.detached.mayRegister) return;
    await this.reconcile(name);
    if (this.failing.delete(name) && this.failing.size === 0) this.options.inOrder();
    this.looked(name);
  }

  private async reconcile(name: string): Promise<void> {
    const wanted = this.options.served().find(({ group, version }) => `${version}.${group}` === name);
    const found = this.existing.get(name);
    const route = this.options.routeOf(split(name)[1]);
    if (route === 'Cluster' || wanted === undefined) {
      this.held.delete(name);
      // A return deletes them, too: requests find the cluster's own types while there is no APIService.
      if (found !== undefined && this.isOwn(found)) await deleteApiService(this.options.client, found);
      return;
    }
    const { group, version } = wanted;
    const isClaimed = route === 'Annex' && found !== undefined && isAutomanaged(found);
    const refusal = isClaimed ? undefined : this.refusalFor(name, group, found, route);
    if (refusal !== undefined) {
      this.options.refused(group, version, refusal);
      return;
    }
    this.held.add(name);
    const existing = isClaimed ? claimedByAnnex(found) : found;
    const wish = this.desiredState(name, wanted, existing);
    if (wish === undefined) this.options.registered(group, version);
    else if (existing === undefined) {
      if (!(await this.options.detached.confirm())) return;
      await this.options.client.must('POST', PATH, wish);
    } else await this.options.client.must('PUT', `${PATH}/${name}`, wish);
    this.announced.delete(name);
  }

  /** Returns the desired state; undefined if it is already there. */
  private desiredState(
    name: string,
    wanted: ServedGroupVersion,
    existing: KubeObject | undefined,
  ): KubeObject | undefined {
    const base: KubeObject = existing ?? { ...TYPE, metadata: { name, labels: { [MANAGED_BY]: MANAGER } } };
    const spec = this.spec(wanted, existing);
    const before = base.metadata.ownerReferences ?? [];
    const ownerReferences = this.options.owner.mergeInto(before);
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

  /** Returns why a group version is not registered; undefined if it may be. */
  private refusalFor(
    name: string,
    group: string,
    found: KubeObject | undefined,
    route: GroupRoute,
  ): Refusal | undefined {
    if (found !== undefined) return this.isOwn(found) ? undefined : refusalOf(name, found);
    // Clients would prefer a version of Annex, or take its types for those of the group's owner.
    if (route === 'Annex' || this.held.has(name) || this.options.allowedGroups.includes(group)) return undefined;
    for (const [other, service] of this.existing) {
      if (split(other)[1] !== group || this.isOwn(service)) continue;
      const { message } = refusalOf(other, service);
      return { reason: 'GroupTaken', message: `${message}; versions of Annex beside it need --allow-cluster-groups` };
    }
    return undefined;
  }

  /** Reports whether this release made the APIService. Another release has the same label, but another Service and owner. */
  private isOwn(service: KubeObject): boolean {
    const { name, namespace } = this.options.service;
    const target = serviceOf(service);
    return (
      isManagedByAnnex(service) &&
      target?.['name'] === name &&
      target['namespace'] === namespace &&
      !this.options.owner.isForeign(service.metadata.ownerReferences ?? [])
    );
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
      caBundle: this.bundles.wanted(name, has, own, (millis) => this.queue.addAfter(name, millis)),
      groupPriorityMinimum: GROUP_PRIORITY_MINIMUM,
      versionPriority: Math.max(1, FIRST_VERSION_PRIORITY - rank),
    };
  }
}

/** The label is removed together with the spec: kube-apiserver restores an APIService that has it within a second. */
function claimedByAnnex(service: KubeObject): KubeObject {
  const { [AUTOMANAGED]: _, ...labels } = service.metadata.labels ?? {};
  return { ...service, metadata: { ...service.metadata, labels: { ...labels, [MANAGED_BY]: MANAGER } } };
}

/** `<version>.<group>`; versions have no dots. */
function split(name: string): [version: string, group: string] {
  const dot = name.indexOf('.');
  return [name.slice(0, dot), name.slice(dot + 1)];
}

/** The cluster registers its own types, and labels those of definitions. */
function refusalOf(name: string, service: KubeObject): Refusal {
  const target = serviceOf(service);
  if (target === undefined) {
    const owner = 'the cluster itself, which serves a CustomResourceDefinition or a type of its own there';
    return { reason: 'GroupVersionTaken', message: `the APIService ${name} belongs to ${owner}` };
  }
  const server = isManagedByAnnex(service) ? 'another release of Annex' : 'another server';
  const place = `${textOf(target['namespace'])}/${textOf(target['name'])}`;
  return { reason: 'Conflict', message: `the APIService ${name} belongs to ${server}, the Service ${place}` };
}

/** Reports whether a release of Annex made the APIService, this one or another. */
export const isManagedByAnnex = (service: KubeObject): boolean =>
  stringAt(service.metadata.labels, MANAGED_BY) === MANAGER;
