import { deserialize } from 'node:v8';
import { compileDefinition } from '../registry/customresource/compiled.js';
import { type Definition, storedType } from '../registry/customresource/definition.js';
import type { Conversion } from '../registry/customresource/conversion/conversion.js';
import { serveDefinition } from '../registry/customresource/serve.js';
import { serveBuiltin } from '../registry/generic/store/builtin-served.js';
import { declaredType, type DeclarativeValidation } from '../registry/builtin/declarative/declared-type.js';
import type { EscalationDependencies } from '../registry/builtin/rbac/escalation.js';
import { ResourceStore } from '../registry/generic/store/resource-store.js';
import type { StoredApi } from '../registry/generic/store/api-registry.js';
import type { ResourceType } from '../registry/rest/interfaces.js';
import { StorageError } from '../storage/errors.js';
import type { ResourceCache } from '../storage/cacher/interfaces.js';
import type { StoredObject, WriteRequest, WriteResult } from '../storage/interfaces.js';
import type { Clock } from '../util/clock.js';
import { featureGates } from '../util/feature-gates.js';
import { NEVER_ABORTED } from '../util/never-aborted.js';
import { builtinStorageName, loadMergeTypes } from '../registry/builtin/install.js';
import { offloadableBuiltins } from './builtins.js';
import type { DefinitionFacts, Task } from './messages.js';

/** Reads and writes objects of any type. A write passes the type, which determines the attributes that selectors match. */
export interface TypeBackend {
  get(resource: string, key: string): Promise<StoredObject | undefined>;
  write(type: Pick<ResourceType, 'attributes'>, request: WriteRequest): Promise<WriteResult>;
}

/** The types that a worker has used so far, backed by the store of the main thread. */
export class RemoteTypes {
  private readonly definitions = new Map<string, readonly StoredApi[]>();
  private builtins: readonly StoredApi[] | undefined;

  constructor(
    private readonly backend: TypeBackend,
    private readonly clock: Clock,
    private readonly dependencies: EscalationDependencies,
    private readonly conversionOf: (definition: Definition) => Conversion,
    private readonly report: DeclarativeValidation['report'],
  ) {}

  find({ info, definition }: Task): StoredApi {
    const apis = definition === undefined ? (this.builtins ??= this.installBuiltins()) : this.ofDefinition(definition);
    const found = apis.find(
      ({ served: { gvk, groupResource } }) =>
        gvk.group === info.apiGroup && gvk.version === info.apiVersion && groupResource.resource === info.resource,
    );
    if (found === undefined)
      throw new Error(`${info.resource}.${info.apiGroup}/${info.apiVersion} is not served by this worker`);
    return found;
  }

  version(definition: DefinitionFacts, groupVersion: string): StoredApi {
    const found = this.ofDefinition(definition).find(({ served }) => served.groupVersion === groupVersion);
    if (found === undefined) throw new Error(`${groupVersion} of ${definition.resource} is not served by this worker`);
    return found;
  }

  private ofDefinition({ id, resource, cbor, serialized, forget }: DefinitionFacts): readonly StoredApi[] {
    for (const old of forget) this.definitions.delete(old);
    const known = this.definitions.get(id);
    if (known !== undefined) return known;
    if (serialized === undefined) throw new Error(`unknown definition ${id}`);
    const definition = deserialize(serialized) as Definition;
    const attributes: ResourceType['attributes'] = (object) => {
      const [api] = apis;
      return api === undefined ? { labels: undefined, fields: {} } : api.served.type.attributes(object);
    };
    const store = new ResourceStore(
      storedType(definition),
      resource,
      this.backendOf({ attributes }),
      emptyCache(resource),
      this.clock,
    );
    const apis: readonly StoredApi[] = serveDefinition({
      compiled: compileDefinition(definition),
      store,
      conversion: this.conversionOf(definition),
      terminating: false,
      epoch: 1,
      signal: NEVER_ABORTED,
      watchCancellation: NEVER_ABORTED,
      clock: this.clock,
      cbor,
    });
    this.definitions.set(id, apis);
    return apis;
  }

  private installBuiltins(): readonly StoredApi[] {
    const mergeTypes = loadMergeTypes();
    const cbor = featureGates.enabled('CBORServingAndStorage');
    const types = offloadableBuiltins(this.dependencies);
    return types.flatMap((type) => {
      const name = builtinStorageName(type);
      // The attributes that selectors match are determined by the type under whose name the object is stored.
      const owner = types.find((other) => other.storedAs === undefined && builtinStorageName(other) === name) ?? type;
      const backend = this.backendOf(owner);
      const store = new ResourceStore(type, name, backend, emptyCache(name), this.clock);
      return serveBuiltin(declaredType(type, { gates: featureGates, report: this.report }), {
        store,
        mergeTypes,
        clock: this.clock,
        cbor,
      });
    });
  }

  private backendOf(type: Pick<ResourceType, 'attributes'>): ResourceStore['backend'] {
    return {
      get: (resource, key) => this.backend.get(resource, key),
      write: (request) => this.backend.write(type, request),
    };
  }
}

/** Returns a cache that is always empty, so that everything is read from the store. */
export function emptyCache(resource: string): ResourceCache {
  const nothing = (): Promise<never> =>
    Promise.reject(new StorageError('closed', `objects of ${resource} are not cached in workers`));
  return {
    resource,
    get: nothing,
    list: nothing,
    watch: nothing,
    peek: () => undefined,
    peekAll: () => [],
    ready: () => Promise.resolve(),
    revision: () => 0,
    size: () => 0,
  };
}
