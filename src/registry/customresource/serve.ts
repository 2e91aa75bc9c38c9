import { type StoredApi, storedApi } from '../generic/store/api-registry.js';
import type { OffloadableDefinition } from '../rest/served.js';
import { customAttributes } from './attributes.js';
import type { CompiledVersion, FormOf } from './compiled.js';
import { ConvertedCache } from './conversion/converted-cache.js';
import { resourceType } from './resource-type.js';
import { servedScale } from './scale-storage.js';
import type { ServeOptions } from './serve-options.js';
import { servedVersion } from './served-version.js';
import { keepVerified } from './verified-forms.js';
import { CustomView } from './view.js';

/** Returns everything needed to serve a definition: one API for each wanted version, over one store. */
export function serveDefinition(
  options: ServeOptions,
  isWanted = ({ version }: CompiledVersion): boolean => version.served,
): StoredApi[] {
  const { definition, versions: compiled } = options.compiled;
  const type = resourceType(definition, compiled);
  const formOf: FormOf = (groupVersion) => {
    const name = groupVersion.startsWith(`${definition.group}/`) ? groupVersion.slice(definition.group.length + 1) : '';
    return compiled.get(name);
  };
  const offloadable = offloadableForm(options);
  const attributes = customAttributes(definition, 'shown');
  return [...compiled.values()].filter(isWanted).map((version) => {
    const view = viewOf(options, version, formOf, offloadable);
    // Ends with an error if the cache is closed first: the server stops.
    if (view.showsStoredVersion) keepVerified(view, version, options).catch(() => undefined);
    const served = servedVersion(options, { type, compiled: version, view, formOf, offloadable });
    const { store, terminating } = options;
    const { prepare } = served;
    const own =
      prepare === undefined
        ? store
        : store.withCache(
            new ConvertedCache(store.cache, prepare, (object) => view.attributes(object, attributes), options.clock),
          );
    const api = storedApi(served, own, terminating);
    return { ...api, scale: servedScale(served, own, api.storage) };
  });
}

function offloadableForm({ compiled, store, conversion: { sender }, signal }: ServeOptions): OffloadableDefinition {
  const review = sender === undefined ? undefined : (body: string) => sender.send(body);
  const { resource } = store;
  return { id: compiled.id, resource, serialized: () => compiled.serialized, retired: signal, review };
}

/** Returns the view of stored objects in a version. */
function viewOf(
  { compiled: { definition }, store, epoch, conversion, offloadConversion }: ServeOptions,
  { version: { name } }: CompiledVersion,
  formOf: FormOf,
  offloadable: OffloadableDefinition,
): CustomView {
  const groupVersion = `${definition.group}/${name}`;
  return new CustomView({
    id: `${store.resource}/${name}/${epoch}`,
    groupVersion,
    formOf,
    conversion,
    isStorage: name === definition.storageVersion,
    offload:
      offloadConversion === undefined
        ? undefined
        : (object) => offloadConversion({ groupVersion, offloadable }, store.resource, object),
  });
}
