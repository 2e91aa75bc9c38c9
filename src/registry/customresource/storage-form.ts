import { ApiError } from '../../apimachinery/meta/errors.js';
import { addFacts, deepCopy, deepEqual, FACTS } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import type { ObjectForm } from '../rest/served.js';
import type { CompiledVersion } from './compiled.js';
import { decodeCustom } from './decode.js';
import { gvkOf } from './resource-type.js';
import type { ServeOptions, VersionParts } from './serve-options.js';

/** How the objects of a version come in, and go into the store. */
export function storageForm(options: ServeOptions, { compiled, view, formOf }: VersionParts): ObjectForm {
  const { definition } = options.compiled;
  const { schema, preserveUnknownFields } = compiled;
  const gvk = gvkOf(definition, compiled.version);
  const storageGroupVersion = `${gvk.group}/${definition.storageVersion}`;
  const stored = (object: KubeObject): MaybePromise<KubeObject> => {
    const { mutated, unreadable } = object[FACTS] ?? {};
    if (mutated === true) schema.prune(object);
    if (unreadable !== undefined && object.apiVersion !== storageGroupVersion) throw new ApiError(500, '', unreadable);
    return toStored(object, formOf(storageGroupVersion), storageGroupVersion, options);
  };
  return {
    decode: (body, strict) => decodeCustom(formOf, gvk, body, strict),
    mostDefaults: (objects) => schema.defaultsBound.once + objects * schema.defaultsBound.perItem,
    toStorage: (object) => {
      if (options.signal.aborted) throw definitionChanged();
      // Nulls that an apply left are gone when the object is read.
      const wasApplied = object[FACTS]?.unpruned === true && !preserveUnknownFields;
      if (wasApplied && schema.pruneRead(object)) addFacts(object, { unseenMembers: 'stored' });
      return stored(object);
    },
    dryRunResult: async (object) => {
      if (object.metadata.resourceVersion === '') delete object.metadata.resourceVersion;
      return view.shown(await stored(object));
    },
    prepare: options.conversion.remote ? (objects) => view.prepare(objects) : undefined,
  };
}

/** In the storage version, without what that does not know. Its defaults are added when it is read, as they are then. */
function toStored(
  object: KubeObject,
  form: CompiledVersion | undefined,
  groupVersion: string,
  { conversion, signal }: ServeOptions,
): MaybePromise<KubeObject> {
  if (object.apiVersion === groupVersion) return object;
  const pruned = (converted: KubeObject): KubeObject => {
    if (form?.preserveUnknownFields === false) form.schema.prune(converted);
    // What was known of the object is not known of its conversion.
    delete converted[FACTS];
    if (form !== undefined && lacksDefaults(converted, form)) addFacts(converted, { incomplete: true });
    return converted;
  };
  if (!conversion.remote) return pruned(deepCopy(conversion.convert(object, groupVersion)));
  return conversion.convertAll([object], groupVersion).then(([converted]) => {
    if (signal.aborted) throw definitionChanged();
    return pruned(converted ?? object);
  });
}

function lacksDefaults(object: KubeObject, { schema }: CompiledVersion): boolean {
  const { once, perItem } = schema.defaultsBound;
  if (once + perItem === 0) return false;
  const shown = deepCopy(object);
  schema.applyDefaults(shown);
  return !deepEqual(object, shown);
}

/** A write that was prepared under a definition that has changed meanwhile would escape the new one's rules. */
export function definitionChanged(): ApiError {
  const text = 'the definition of the resource has changed while the request was processed, please try again';
  return new ApiError(503, 'ServiceUnavailable', text, { retryAfterSeconds: 1 });
}
