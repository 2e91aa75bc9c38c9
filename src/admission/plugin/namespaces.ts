import { ApiError, newNotFound } from '../../apimachinery/errors.js';
import { messageOf } from '../../util/error-message.js';
import type { KubeObject } from '../../apimachinery/meta.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../interfaces.js';
import { refusal } from '../refusal.js';

/** Access to namespaces: what the cache has, and a fresh read where the cache has nothing. */
export interface NamespaceReader {
  cached(name: string): KubeObject | undefined;
  live(name: string): Promise<KubeObject | undefined>;
}

const NAMESPACES = { group: '', resource: 'namespaces' };

const isAboutNamespaces = ({ kind }: AdmissionAttributes): boolean => kind.group === '' && kind.kind === 'Namespace';

/** Refuses every request in a namespace that does not exist. */
export function namespaceExists(namespaces: NamespaceReader): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    handles: (operation) => operation !== 'CONNECT',
    readsObjects: () => false,
    validate(attributes) {
      const { namespace } = attributes;
      if (namespace === '' || isAboutNamespaces(attributes) || namespaces.cached(namespace) !== undefined) return;
      return namespaces.live(namespace).then((live) => {
        if (live === undefined) throw newNotFound(NAMESPACES, namespace);
      });
    },
  };
}

/** Creates the namespace of an object that is created, where there is none. `provision` creates it. */
export function namespaceAutoProvision(
  namespaces: NamespaceReader,
  provision: (namespace: string) => Promise<unknown>,
): AdmissionPlugin {
  return {
    name: 'NamespaceAutoProvision',
    handles: (operation) => operation === 'CREATE',
    readsObjects: () => false,
    admit(attributes) {
      const { namespace, dryRun } = attributes;
      if (dryRun || namespace === '' || isAboutNamespaces(attributes)) return;
      if (namespaces.cached(namespace) !== undefined) return;
      return provision(namespace).then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof ApiError && error.reason === 'AlreadyExists') return;
          if (error instanceof ApiError && error.reason === 'Forbidden') throw error;
          throw refusal(attributes, messageOf(error));
        },
      );
    },
  };
}
