import type { KubeObject } from '../../../src/apimachinery/meta/meta.js';
import type { ObjectReader } from '../../../src/admission/object-reader.js';

/** Returns a reader whose cache and store both contain these objects. */
export function fakeReader(...objects: readonly KubeObject[]): ObjectReader {
  const find = (namespace: string, name: string): KubeObject | undefined =>
    objects.find(({ metadata }) => (metadata.namespace ?? '') === namespace && metadata.name === name);
  return { cached: find, live: (namespace, name) => Promise.resolve(find(namespace, name)) };
}
