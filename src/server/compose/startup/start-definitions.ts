import { admissionChain } from '../../../admission/chain.js';
import { ApiError } from '../../../apimachinery/meta/errors.js';
import { type GroupResource, hasDeletionTimestamp, type KubeObject } from '../../../apimachinery/meta/meta.js';
import { definitionEvents } from '../../../controllers/definitions/definition-events.js';
import { ObjectEvents } from '../../../controllers/object-events.js';
import { DefinitionController } from '../../../controllers/definitions/definitions.js';
import {
  CustomResourceHandler,
  type ServingOptions,
} from '../../../controllers/definitions/custom-resource-handler.js';
import { LocalClients } from '../../../registry/generic/loopback/local-client.js';
import type { VerifiedMarks } from '../../../storage/verified-marks.js';
import type { LoopbackClient, LoopbackClients } from '../../../registry/rest/loopback-client.js';

export interface DefinitionsOptions extends Omit<ServingOptions, 'verified'> {
  /** Where it is kept which objects were verified; undefined if that is not kept. */
  readonly marks?: VerifiedMarks;
  /** The type whose objects are definitions. */
  readonly type: GroupResource;
  readonly clients: LoopbackClients;
  /** Creates an event about a definition, unless the event exists. */
  readonly recordEvent: (event: KubeObject) => Promise<void>;
  /** Reports whether the objects of a definition stay in place when it is deleted. */
  readonly leavesObjects?: (definition: KubeObject) => boolean;
  readonly signal: AbortSignal;
}

/** Serves the types of the definitions. Resolves once those that exist are served; after that, a type that is not served does not exist. */
export async function startDefinitions(options: DefinitionsOptions): Promise<void> {
  const { clients, clock, marks, registry, type, signal, recordEvent } = options;
  // As in kube-apiserver, the deletion of the objects of a deleted definition bypasses admission: no policy can prevent it.
  const deleters = new LocalClients({ registry, admission: admissionChain([]), clock, fieldManager: 'kube-apiserver' });
  const controller = new DefinitionController({
    client: clients.for(type),
    serving: new CustomResourceHandler({
      ...options,
      ...(marks && { verified: { marks, newest: (name) => clients.for(type).get('', name) } }),
    }),
    clock,
    ...(options.leavesObjects !== undefined && { leavesObjects: options.leavesObjects }),
    deleteObjects: (store) => deleteAll(deleters.for(store.groupResource)),
    onError: options.onError,
  });
  controller.start(signal);
  const events = new ObjectEvents({
    name: 'definition_events',
    eventsFor: definitionEvents,
    client: clients.for(type),
    clock,
    record: recordEvent,
    onError: (name, error) => options.onError(`${name}: cannot record the event`, error),
  });
  events.start(signal);
  await controller.synced;
  options.registry.complete();
}

/** Deletes all objects of a type, up to 32 at a time. Objects that are already being deleted are skipped. */
async function deleteAll(client: LoopbackClient): Promise<void> {
  const objects = (await client.list('')).filter((object) => !hasDeletionTimestamp(object));
  let next = 0;
  const work = async (): Promise<void> => {
    for (let object = objects[next++]; object !== undefined; object = objects[next++]) {
      await client.delete(object.metadata.namespace ?? '', object.metadata.name ?? '').catch(ignoreNotFound);
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ApiError && error.code === 404)) throw error;
}
