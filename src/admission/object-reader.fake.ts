import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { ObjectReader } from './object-reader.js';

/** Returns a reader whose cache and store both contain these objects. */
export function fakeReader(...objects: readonly KubeObject[]): ObjectReader {
  const find = (namespace: string, name: string): KubeObject | undefined =>
    objects.find(({ metadata }) => (metadata.namespace ?? '') === namespace && metadata.name === name);
  return { cached: find, live: (namespace, name) => Promise.resolve(find(namespace, name)) };
}
