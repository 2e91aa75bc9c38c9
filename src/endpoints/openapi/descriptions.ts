import { readDataFile } from '../../apimachinery/scheme/data-files.js';
import { isObject, type JsonObject, stringAt } from '../../apimachinery/json/json.js';

const DEFINITIONS = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.';
const OURS = 'io.kubeannex.v1.';

/** Descriptions of the fields that every kind has, used unless the kind describes them itself. */
const COMMON: Readonly<Record<string, string>> = {
  apiVersion: 'Group and version of this object, or only the version for the core group.',
  kind: 'Kind of this object, in CamelCase.',
  metadata: 'Identity, labels and lifecycle of the object.',
};
const OF_LISTS: Readonly<Record<string, string>> = {
  items: 'The objects in the list.',
  metadata: 'Resource version of the list, and its continue token.',
};

/** Adds the known descriptions to the schemas of a group version and to their fields. */
export function describeSchemas(schemas: Record<string, JsonObject>): void {
  const texts = (known ??= readDataFile('types', 'descriptions.json') as JsonObject);
  for (const name in schemas) {
    const schema = schemas[name];
    if (schema === undefined) continue;
    const kind = name.slice(name.lastIndexOf('.') + 1);
    const typeTexts = textsOf(texts, name);
    if (typeTexts !== undefined) schemas[name] = described(schema, typeTexts, COMMON);
    else if (isObject(schema['properties']) && isObject(schema['properties']['items']) && kind.endsWith('List')) {
      const description = `A list of objects of kind ${kind.slice(0, -'List'.length)}.`;
      schemas[name] = described(schema, { description }, { ...COMMON, ...OF_LISTS });
    }
  }
}

let known: JsonObject | undefined;

/** Alpha and beta versions use the descriptions of v1. */
const UNSTABLE = /\.v\d+(?:alpha|beta)\d+\.(?=\w+$)/;

/** Returns the descriptions for a type. ResourceDefinitions use those of CustomResourceDefinitions. */
function textsOf(texts: JsonObject, name: string): JsonObject | undefined {
  const own = texts[name.replace(UNSTABLE, '.v1.')];
  if (isObject(own)) return own;
  if (!name.startsWith(OURS)) return undefined;
  const rest = name.slice(OURS.length);
  const crdTexts = texts[`${DEFINITIONS}${rest}`] ?? texts[`${DEFINITIONS}Custom${rest}`];
  return isObject(crdTexts) ? crdTexts : undefined;
}

/** Returns the schema with its description and those of its properties added. */
function described(schema: JsonObject, typeTexts: JsonObject, common: Readonly<Record<string, string>>): JsonObject {
  const description = stringAt(typeTexts, 'description') ?? '';
  const { properties } = schema;
  if (!isObject(properties)) return { description, ...schema };
  const own = isObject(typeTexts['properties']) ? typeTexts['properties'] : {};
  const all: JsonObject = {};
  for (const name in properties) {
    const property = properties[name];
    const text = stringAt(own, name) ?? (Object.hasOwn(common, name) ? common[name] : undefined);
    all[name] = isObject(property) && text !== undefined ? { description: text, ...property } : property;
  }
  return { description, ...schema, properties: all };
}

/** Descriptions of the request parameters. */
const PARAMETERS: Readonly<Record<string, string>> = {
  allowWatchBookmarks: 'Allows BOOKMARK events, which report the resource version that the watch has reached.',
  body: 'The object, the patch or the delete options.',
  continue: 'Continue token of the previous page. Returns 410 if it has expired; restart the list.',
  dryRun: '`All` processes the request without persisting it. An empty value has no effect.',
  fieldManager: 'Name of the field manager that owns the set fields; required for apply. At most 128 characters.',
  fieldSelector: 'Restricts the result to objects with these field values, for example metadata.name=a.',
  fieldValidation:
    'How unknown and duplicate fields are handled: Ignore drops them, Warn (the default) also warns, Strict rejects the request.',
  force: 'Takes over fields of other managers on apply.',
  gracePeriodSeconds: 'Seconds until the object is deleted; 0 deletes it immediately.',
  ignoreStoreReadErrorWithClusterBreakingPotential:
    'Deletes an object that cannot be read from the store, ignoring its finalizers. Requires the feature gate AllowUnsafeMalformedObjectDeletion.',
  labelSelector: 'Restricts the result to objects with these labels, for example app=web,tier!=db.',
  limit: 'Maximum number of objects per response; use `continue` for the next page.',
  name: 'Name of the object.',
  namespace: 'Namespace of the object.',
  orphanDependents: 'Deprecated, use propagationPolicy: true means Orphan, false Background.',
  pretty: 'Whether the response is indented.',
  propagationPolicy: 'How dependents are garbage-collected: Background, Foreground or Orphan.',
  resourceVersion:
    'For get and list: not older than this version; 0 means any, unset the most recent. For watch: changes after it.',
  resourceVersionMatch: 'How a list interprets resourceVersion: Exact or NotOlderThan.',
  sendInitialEvents:
    'Starts a watch with the existing objects, followed by a BOOKMARK. Requires resourceVersionMatch=NotOlderThan.',
  shardSelector: 'Restricts the result to the objects of one shard of the collection.',
  timeoutSeconds: 'Timeout of the request in seconds.',
  watch: 'Watches for changes instead of returning a list.',
};

/** Returns the description of a parameter as a fragment of the parameter's object; empty if none is known. */
export const parameterText = (name: string): JsonObject =>
  Object.hasOwn(PARAMETERS, name) ? { description: PARAMETERS[name] ?? '' } : {};
