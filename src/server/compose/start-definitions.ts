import { admissionChain } from '../../admission/chain.js';
import type { GroupResource } from '../../apimachinery/meta/meta.js';
import { DefinitionController } from '../../controllers/definitions/definitions.js';
import { CustomResourceHandler, type ServingOptions } from '../../controllers/definitions/custom-resource-handler.js';
import { LocalClients } from '../../registry/generic/loopback/local-client.js';
import type { LoopbackClients } from '../../registry/rest/loopback-client.js';
import { deleteEach } from './delete-each.js';

export interface DefinitionsOptions extends ServingOptions {
  /** The type whose objects are definitions. */
  readonly type: GroupResource;
  readonly clients: LoopbackClients;
  readonly signal: AbortSignal;
}

/** Serves what definitions say; resolves when those that are there are served, and what is not served then does not exist. */
export async function startDefinitions(options: DefinitionsOptions): Promise<void> {
  const { clients, clock, registry, type, signal } = options;
  // As in kube-apiserver nothing admits the deletion of the objects of a definition that goes: no policy can keep it.
  const deleters = new LocalClients({ registry, admission: admissionChain([]), clock, fieldManager: 'kube-apiserver' });
  const controller = new DefinitionController({
    client: clients.for(type),
    serving: new CustomResourceHandler(options),
    clock,
    deleteObjects: (store) => deleteEach(deleters.for(store.groupResource), ''),
    onError: (name, error) => {
      options.onError(name, error);
    },
  });
  controller.start(signal);
  await controller.synced;
  options.registry.complete();
}
