import { ApiError, newNotFound } from '../../apimachinery/meta/errors.js';
import { messageOf } from '../../util/error-message.js';
import { then } from '../../util/maybe-promise.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../interfaces.js';
import { refusal } from '../refusal.js';
import type { NamespaceSource } from '../sources.js';

const NAMESPACES = { group: '', resource: 'namespaces' };

const isAboutNamespaces = ({ kind }: AdmissionAttributes): boolean => kind.group === '' && kind.kind === 'Namespace';

/** Refuses every request in a namespace that does not exist. */
export function namespaceExists(namespaces: NamespaceSource): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    handles: (operation) => operation !== 'CONNECT',
    readsObjects: () => false,
    validate(attributes) {
      const { namespace } = attributes;
      if (namespace === '' || isAboutNamespaces(attributes)) return;
      return then(namespaces.get(namespace), (found) => {
        if (found === undefined) throw newNotFound(NAMESPACES, namespace);
      });
    },
  };
}

/** Creates the namespace of a new object if it does not exist, by calling `provision`. */
export function namespaceAutoProvision(
  namespaces: NamespaceSource,
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
