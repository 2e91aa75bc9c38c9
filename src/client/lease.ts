import { deepCopy, type JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { ClusterClient } from './cluster-client.js';

/** Where Leases are kept. A write fails with a conflict (409) if somebody else was faster. */
export interface LeaseStore {
  get(namespace: string, name: string): Promise<KubeObject | undefined>;
  create(lease: KubeObject): Promise<KubeObject | undefined>;
  update(lease: KubeObject): Promise<KubeObject | undefined>;
}

/** The Leases of the cluster that Annex extends. */
export function clusterLeases(client: Pick<ClusterClient, 'must'>): LeaseStore {
  const all = (namespace: string): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const path = (namespace: string, name: string): string => `${all(namespace)}/${name}`;
  return {
    get: (namespace, name) => client.must('GET', path(namespace, name)),
    create: (lease) => client.must('POST', all(lease.metadata.namespace ?? ''), lease),
    update: (lease) => client.must('PUT', path(lease.metadata.namespace ?? '', lease.metadata.name ?? ''), lease),
  };
}

/** Gives the Lease that was read the spec, or creates it if there was none. */
export function writeLease(
  leases: LeaseStore,
  current: KubeObject | undefined,
  metadata: { readonly namespace: string; readonly name: string },
  spec: JsonObject,
): Promise<KubeObject | undefined> {
  if (current !== undefined) return leases.update({ ...deepCopy(current), spec });
  return leases.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...metadata }, spec });
}
