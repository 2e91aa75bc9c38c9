import type { AdmissionPlugin } from '../admission/interfaces.js';
import type { GroupResource } from '../apimachinery/meta/meta.js';
import { formatGoDuration } from '../go/duration.js';
import type { ApiRegistry } from '../registry/generic/store/api-registry.js';
import type { KeptHistory } from '../storage/kept/interfaces.js';

/** The types whose objects are definitions, with the names that users call them by. */
const DEFINITIONS: Readonly<Record<string, string>> = {
  'customresourcedefinitions.apiextensions.k8s.io': 'crd',
  'resourcedefinitions.kubeannex.io': 'rd',
};

/** Up to this many objects the answer is kube-apiserver's, without a warning: scripts that try out definitions delete as many. */
const FEW = 9;

const shortNameOf = ({ resource, group }: GroupResource): string | undefined => DEFINITIONS[`${resource}.${group}`];

interface DeletionWarningOptions {
  readonly kept: KeptHistory | undefined;
  readonly registry: Pick<ApiRegistry, 'bundleOf'>;
}

/** Warns who deletes a definition how many objects go with it, and how they come back. */
export function deletionWarning({ kept, registry }: DeletionWarningOptions): AdmissionPlugin[] {
  if (kept === undefined) return [];
  const sizeOf = (name: string): number => {
    const [resource = '', ...group] = name.split('.');
    const bundle = registry.bundleOf({ group: group.join('.'), resource });
    const api = bundle?.apis.find(({ kind }) => kind === 'stored') ?? bundle?.hidden;
    return api?.kind === 'stored' ? api.store.cache.size() : 0;
  };
  return [
    {
      name: 'DefinitionDeletionWarning',
      handles: (operation) => operation === 'DELETE',
      readsObjects: (type) => shortNameOf(type) !== undefined,
      async validate(attributes) {
        const { resource, subresource, oldObject } = attributes;
        const type = shortNameOf(resource);
        const name = oldObject?.metadata.name ?? '';
        if (type === undefined || subresource !== '' || name === '') return;
        const count = sizeOf(name);
        if (count <= FEW) return;
        const { keepDeletedFor } = (await kept.policy(name)).policy;
        const back =
          keepDeletedFor === 0
            ? 'nothing of them is kept'
            : `for ${formatGoDuration(keepDeletedFor)}, "kubectl annex undelete ${type} ${name}" brings all of it back`;
        attributes.warn(`deleting ${name} deletes its ${String(count)} objects; ${back}`);
      },
    },
  ];
}
