import { serialize } from 'node:v8';
import type { AdmissionOperation } from '../admission/interfaces.js';
import type { OffloadScope } from '../endpoints/handlers/scope.js';
import type { Description } from '../endpoints/openapi/parts.js';
import type { OpenApiGroupVersion } from '../endpoints/openapi/source.js';
import type { OffloadableDefinition } from '../registry/rest/served.js';
import type { CachedObject } from '../storage/cacher/interfaces.js';
import { yieldNow } from '../scheduling/slicer.js';
import { NEVER_ABORTED } from '../util/never-aborted.js';
import {
  type AdmissionFacts,
  type DefinitionFacts,
  type DescribeTask,
  copyForTransfer,
  type ReadFacts,
  type ShowTask,
  type Task,
} from './messages.js';

/** The maximum number of definitions that a worker keeps compiled. */
const DEFINITIONS = 32;
const OPERATIONS: readonly AdmissionOperation[] = ['CREATE', 'UPDATE', 'DELETE'];

/** A unit of work for a worker. */
export interface Work {
  /** The scope of the request; undefined for work that does not belong to a request. */
  readonly scope: OffloadScope | undefined;
  /** Sends a review to the conversion webhook, for work that does not belong to a request. */
  readonly review?: OffloadableDefinition['review'];
  /** What takes turns with others: the user of the request, else the type that the work is for. */
  readonly flow: string;
  readonly bytes: number;
  readonly signal: AbortSignal;
  /** Creates the message for a worker. Called when a worker is available, with the definitions that it has. */
  message(id: number, definitions: KnownDefinitions): Task | DescribeTask | ShowTask;
}

/** The definitions that one worker has or is about to receive. */
export class KnownDefinitions {
  /** The definition IDs, least recently used first. */
  private readonly ids = new Set<string>();

  /** Returns what the worker needs in order to use the definition, including the IDs of the definitions that it must drop. */
  use(offloadable: OffloadableDefinition, resource: string, cbor: boolean): DefinitionFacts {
    const { id } = offloadable;
    const known = this.ids.delete(id);
    this.ids.add(id);
    const forget = [...this.ids].slice(0, Math.max(0, this.ids.size - DEFINITIONS));
    for (const old of forget) this.ids.delete(old);
    return { id, resource, cbor, serialized: known ? undefined : offloadable.serialized(), forget };
  }
}

/** Work for a request, with its body or with the stored object that was read for it. */
export function requestWork(scope: OffloadScope, body: Uint8Array, read: ReadFacts | undefined): Work {
  return {
    scope,
    flow: `user ${scope.context.user.name}`,
    bytes: body.length,
    signal: scope.context.signal,
    message: (id, definitions) => taskOf(id, scope, copyForTransfer(body), read, definitions),
  };
}

/** Work to describe a group version. Its kinds are serialized one per turn of the event loop, because there may be many. */
export async function describeWork(what: Description, { kinds, ...gv }: OpenApiGroupVersion): Promise<Work> {
  const copies: Uint8Array[] = [];
  for (const kind of kinds) {
    copies.push(serialize(kind));
    await yieldNow();
  }
  return {
    scope: undefined,
    flow: `description ${gv.group}/${gv.version}`,
    bytes: copies.reduce((sum, { length }) => sum + length, 0),
    signal: NEVER_ABORTED,
    message: (id) => ({ type: 'describe', id, what, gv, kinds: copies }),
  };
}

/** Work to render an object in a version that a webhook converts to. */
export function showWork(
  offloadable: OffloadableDefinition,
  groupVersion: string,
  resource: string,
  cbor: boolean,
  { key, revision, bytes, flags }: CachedObject,
): Work {
  return {
    scope: undefined,
    review: offloadable.review,
    flow: `type ${resource}`,
    bytes: bytes.length,
    signal: NEVER_ABORTED,
    message: (id, definitions) => {
      const definition = definitions.use(offloadable, resource, cbor);
      return { type: 'show', id, definition, groupVersion, key, revision, flags, body: copyForTransfer(bytes) };
    },
  };
}

function taskOf(
  id: number,
  scope: OffloadScope,
  body: Uint8Array,
  read: ReadFacts | undefined,
  definitions: KnownDefinitions,
): Task {
  const { context, request, environment, served } = scope;
  const offloadable = served.definition?.offloadable;
  const cbor = environment.features.enabled('CBORServingAndStorage');
  return {
    type: 'task',
    id,
    method: request.method ?? '',
    url: request.url ?? '',
    headers: { ...request.headers },
    body,
    info: context.info,
    user: context.user,
    userAgent: context.userAgent,
    auditId: context.auditId,
    receivedAt: context.receivedAt,
    audited: context.audit !== undefined,
    maxRequestBodyBytes: environment.maxRequestBodyBytes,
    admission: admissionFacts(scope),
    definition: offloadable === undefined ? undefined : definitions.use(offloadable, offloadable.resource, cbor),
    read,
  };
}

function admissionFacts({ environment: { admission }, served }: OffloadScope): AdmissionFacts {
  return {
    mutates: OPERATIONS.filter((operation) => admission.mutates(operation)),
    reads: OPERATIONS.filter((operation) => admission.readsObjects(operation, served.groupResource)),
  };
}
