import { sleep } from '../../util/clock.js';
import type { StoredApi } from '../generic/store/api-registry.js';
import type { PortableDefinition } from '../rest/served.js';
import { customAttributes } from './attributes.js';
import type { CompiledVersion } from './compiled.js';
import { ConvertedCache } from './conversion/converted-cache.js';
import { resourceType } from './resource-type.js';
import type { FormOf, ServeOptions } from './serve-options.js';
import { servedVersion } from './served-version.js';
import { CustomView } from './view.js';

/** Makes everything that serving a definition takes: one api for each version that is wanted, over one store. */
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
  const portable = portableForm(options);
  const attributes = customAttributes(definition, 'shown');
  return [...compiled.values()].filter(isWanted).map((version) => {
    const view = viewOf(options, version, formOf, portable);
    void verifyLater(view, options);
    const served = servedVersion(options, { type, compiled: version, view, formOf, portable });
    const { store, terminating } = options;
    const { prepare } = served;
    const own =
      prepare === undefined
        ? store
        : store.through(new ConvertedCache(store.cache, prepare, (object) => view.attributes(object, attributes)));
    return { kind: 'stored' as const, served, store: own, terminating };
  });
}

function portableForm({ compiled, conversion: { sender }, signal }: ServeOptions): PortableDefinition {
  const review = sender === undefined ? undefined : (body: string) => sender.send(body);
  return { id: compiled.id, serialized: () => compiled.serialized, retired: signal, review };
}

/** How stored objects look in a version. */
function viewOf(
  { compiled: { definition }, store, epoch, conversion, elsewhere }: ServeOptions,
  { version: { name } }: CompiledVersion,
  formOf: FormOf,
  portable: PortableDefinition,
): CustomView {
  const groupVersion = `${definition.group}/${name}`;
  return new CustomView({
    id: `${store.resource}/${name}/${epoch}`,
    groupVersion,
    formOf,
    conversion,
    isStorage: name === definition.storageVersion,
    elsewhere:
      elsewhere === undefined ? undefined : (object) => elsewhere({ groupVersion, portable }, store.resource, object),
  });
}

/** Requests under an earlier definition are given this long to end before stored objects are looked at. */
const SETTLE_MILLIS = 1000;

async function verifyLater(view: CustomView, options: ServeOptions): Promise<void> {
  const { store, signal, clock } = options;
  if (store.cache.size() > 0 || options.epoch > 1) await sleep(clock, SETTLE_MILLIS, signal);
  if (signal.aborted) return;
  await store.cache.ready();
  await view.verify(store.cache.peekAll(''), signal, clock);
}
