import { readDataFile } from '../../apimachinery/scheme/data-files.js';
import { isObject, type JsonObject, stringAt } from '../../apimachinery/json/json.js';

const DEFINITIONS = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.';
const OURS = 'io.kubeannex.v1.';

/** Descriptions of the fields that every kind has, used unless the kind describes them itself. */
const COMMON: Readonly<Record<string, string>> = {
  apiVersion: 'Group and version of this object; the version alone for the core group.',
  kind: 'Kind of this object, in CamelCase.',
  metadata: 'Identity, labels and life cycle of the object.',
};
const OF_LISTS: Readonly<Record<string, string>> = {
  items: 'The objects.',
  metadata: 'Version of the list, and where it goes on.',
};

/** Adds the known descriptions to the schemas of a group version and to their fields. */
export function describeSchemas(schemas: Record<string, JsonObject>): void {
  const texts = (known ??= readDataFile('types', 'descriptions.json') as JsonObject);
  for (const name in schemas) {
    const schema = schemas[name];
    if (schema === undefined) continue;
    const kind = name.slice(name.lastIndexOf('.') + 1);
    const said = textsOf(texts, name);
    if (said !== undefined) schemas[name] = described(schema, said, COMMON);
    else if (isObject(schema['properties']) && isObject(schema['properties']['items']) && kind.endsWith('List')) {
      const description = `A list of objects of the kind ${kind.slice(0, -'List'.length)}.`;
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
  const theirs = texts[`${DEFINITIONS}${rest}`] ?? texts[`${DEFINITIONS}Custom${rest}`];
  return isObject(theirs) ? theirs : undefined;
}

/** Returns the schema with its description and those of its properties added. */
function described(schema: JsonObject, said: JsonObject, common: Readonly<Record<string, string>>): JsonObject {
  const description = stringAt(said, 'description') ?? '';
  const { properties } = schema;
  if (!isObject(properties)) return { description, ...schema };
  const own = isObject(said['properties']) ? said['properties'] : {};
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
  allowWatchBookmarks: 'Whether a watch may get BOOKMARK events, which say how far it has come.',
  body: 'The object, the patch or the options.',
  continue: 'Token of the previous part of a list; the next part follows. 410 once it is too old: begin anew.',
  dryRun: '`All` goes through everything but storing. Without a value nothing changes.',
  fieldManager: 'Name under which the fields are noted as set; required to apply. At most 128 characters.',
  fieldSelector: 'Only objects with these values of fields, as in metadata.name=a.',
  fieldValidation:
    'What becomes of unknown and duplicate fields: Ignore drops them, Warn (the default) also warns, Strict refuses.',
  force: 'Takes fields over from other managers when applying.',
  gracePeriodSeconds: 'Seconds until the object must be gone; 0 at once.',
  ignoreStoreReadErrorWithClusterBreakingPotential:
    'Deletes an object that cannot be read from the store, past its finalizers. Needs the gate AllowUnsafeMalformedObjectDeletion.',
  labelSelector: 'Only objects with these labels, as in app=web,tier!=db.',
  limit: 'Most objects in one answer; the list goes on with `continue`.',
  name: 'Name of the object.',
  namespace: 'Namespace of the object.',
  orphanDependents: 'Old form of propagationPolicy: true for Orphan, false for Background.',
  pretty: 'Whether the answer is indented.',
  propagationPolicy: 'What becomes of dependent objects: Background, Foreground or Orphan.',
  resourceVersion:
    'For a list or get: at least this version, 0 for any, nothing for the newest. For a watch: what came after it.',
  resourceVersionMatch: 'How a list takes resourceVersion: Exact, or NotOlderThan.',
  sendInitialEvents:
    'Begins a watch with the objects that are there, and a BOOKMARK after them. Needs resourceVersionMatch=NotOlderThan.',
  shardSelector: 'Only the objects of one shard of the collection.',
  timeoutSeconds: 'Seconds after which the request ends.',
  watch: 'Sends changes as they happen instead of a list.',
};

/** Returns the description of a parameter as a fragment of the parameter's object; empty if none is known. */
export const parameterText = (name: string): JsonObject =>
  Object.hasOwn(PARAMETERS, name) ? { description: PARAMETERS[name] ?? '' } : {};
