import { addTo, removeFrom } from '../../util/append.js';
import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { podReferences, volumeReferences, type ReferenceKind, type VolumeReferences } from './references.js';

interface PodEntry {
  readonly node: string;
  /** The keys of the objects that the pod refers to. */
  readonly references: readonly string[];
}

/** The number of pods on each node that refer to an object. */
type NodeCounts = Map<string, number>;

/**
 * Tracks the objects that the pods of each node refer to, from the watch events of pods and persistent volumes. A check
 * is one map lookup; for secrets of volumes, one per volume that uses the secret.
 */
export class NodeGraph {
  private readonly pods = new Map<string, PodEntry>();
  private readonly users = new Map<string, NodeCounts>();
  private readonly volumes = new Map<string, VolumeReferences>();
  /** The names of the volumes that use a secret. */
  private readonly secretVolumes = new Map<string, Set<string>>();

  upsertPod(pod: KubeObject): void {
    const node = stringAt(objectAt(pod, 'spec'), 'nodeName') ?? '';
    const { namespace = '', name = '' } = pod.metadata;
    this.deletePod(namespace, name);
    if (node === '') return;
    const keys = podReferences(pod).map((reference) => keyOf(reference.kind, namespace, reference.name));
    const references = [...new Set(keys)];
    this.pods.set(`${namespace}/${name}`, { node, references });
    for (const key of references) {
      let counts = this.users.get(key);
      if (counts === undefined) this.users.set(key, (counts = new Map<string, number>()));
      counts.set(node, (counts.get(node) ?? 0) + 1);
    }
  }

  deletePod(namespace: string, name: string): void {
    const entry = this.pods.get(`${namespace}/${name}`);
    if (entry === undefined) return;
    this.pods.delete(`${namespace}/${name}`);
    for (const key of entry.references) this.release(key, entry.node);
  }

  upsertVolume(volume: KubeObject): void {
    const name = volume.metadata.name ?? '';
    this.deleteVolume(name);
    const references = volumeReferences(volume);
    if (references.claim === undefined) return;
    this.volumes.set(name, references);
    for (const secret of references.secrets) addTo(this.secretVolumes, secret, name);
  }

  deleteVolume(name: string): void {
    const references = this.volumes.get(name);
    if (references === undefined) return;
    this.volumes.delete(name);
    for (const secret of references.secrets) removeFrom(this.secretVolumes, secret, name);
  }

  /** Removes all pods, before all objects are delivered again. */
  clearPods(): void {
    this.pods.clear();
    this.users.clear();
  }

  clearVolumes(): void {
    this.volumes.clear();
    this.secretVolumes.clear();
  }

  /** Reports whether a pod on the node leads to the object. */
  hasPath(node: string, kind: ReferenceKind | 'persistentvolume', namespace: string, name: string): boolean {
    if (kind === 'persistentvolume') return this.hasPathToVolume(node, name);
    if (this.users.get(keyOf(kind, namespace, name))?.has(node) === true) return true;
    if (kind !== 'secret') return false;
    for (const volume of this.secretVolumes.get(`${namespace}/${name}`) ?? []) {
      if (this.hasPathToVolume(node, volume)) return true;
    }
    return false;
  }

  private hasPathToVolume(node: string, name: string): boolean {
    const claim = this.volumes.get(name)?.claim;
    return claim !== undefined && this.users.get(`persistentvolumeclaim/${claim}`)?.has(node) === true;
  }

  private release(key: string, node: string): void {
    const counts = this.users.get(key);
    const count = counts?.get(node);
    if (counts === undefined || count === undefined) return;
    if (count > 1) counts.set(node, count - 1);
    else counts.delete(node);
    if (counts.size === 0) this.users.delete(key);
  }
}

const keyOf = (kind: ReferenceKind, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;
