import { quote, type KubeObject } from '../../../../apimachinery/meta/meta.js';

const SUFFIX = '.static.k8s.io';

/** The warning about names that configurations from files will have. */
export function staticSuffixWarnings({ metadata }: KubeObject): readonly string[] {
  if (!(metadata.name ?? '').endsWith(SUFFIX)) return [];
  return [
    `metadata.name: names ending with ${quote(SUFFIX)} are reserved for static manifest-based configurations and cannot be managed via the API`,
  ];
}
