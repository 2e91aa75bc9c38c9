import { quote, type KubeObject } from '../../../../apimachinery/meta/meta.js';

const SUFFIX = '.static.k8s.io';

/** Returns the warning for names that are reserved for configurations from files. */
export function staticSuffixWarnings({ metadata }: KubeObject): readonly string[] {
  if (!(metadata.name ?? '').endsWith(SUFFIX)) return [];
  return [
    `metadata.name: names ending with ${quote(SUFFIX)} are reserved for static manifest-based configurations and cannot be managed via the API`,
  ];
}
