import type { KubeObject } from '../../../../apimachinery/meta/meta.js';

const KEPT = [
  'deletionTimestamp',
  'generation',
  'selfLink',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
] as const;

/** Restores the metadata that a status update does not change. */
export function keepMetadataForStatus(object: KubeObject, old: KubeObject): void {
  const [target, source]: Record<string, unknown>[] = [object.metadata, old.metadata];
  if (target === undefined || source === undefined) return;
  for (const key of KEPT) {
    if (source[key] === undefined) Reflect.deleteProperty(target, key);
    else target[key] = source[key];
  }
}
