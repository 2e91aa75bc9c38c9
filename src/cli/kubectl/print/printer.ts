import { readFileSync } from 'node:fs';
import { isObject, type JsonObject, objectAt, textAt } from '../../../apimachinery/json/json.js';
import { toYaml } from '../../../apimachinery/yaml/yaml.js';
import { kindName, type Resource } from '../discovery.js';
import { UsageError } from '../failure.js';
import { CustomColumns } from './custom-columns.js';
import { indentedJson } from './json-text.js';
import { Template } from './template.js';

export interface OutputFlags {
  readonly output?: string;
  readonly showManagedFields?: boolean;
  readonly headers?: boolean;
}

/** Prints whole objects, for the formats that are no Tables. */
export interface ObjectPrinter {
  /** True if only names are needed: then the server sends metadata alone. */
  readonly metadataOnly: boolean;
  /** Prints what a command got: one object that was named, or a list. */
  all(objects: readonly JsonObject[], isList: boolean): string;
  /** Prints an object of a watch. */
  one(object: JsonObject): string;
}

const FORMATS = [
  'json',
  'yaml',
  'name',
  'wide',
  'jsonpath=…',
  'jsonpath-as-json=…',
  'jsonpath-file=…',
  'custom-columns=…',
  'custom-columns-file=…',
];

/** Returns the printer of a format; undefined for Tables, of which `wide` is one. */
export function printerOf(flags: OutputFlags): ObjectPrinter | undefined {
  const output = (flags.output ?? '').replace(/^=/, '');
  if (output === '' || output === 'wide') return undefined;
  const equals = output.indexOf('=');
  const [format, value] = equals < 0 ? [output, ''] : [output.slice(0, equals), output.slice(equals + 1)];
  const shown = flags.showManagedFields === true ? (object: JsonObject) => object : withoutManagedFields;
  switch (format) {
    case 'json':
      return whole((object) => `${indentedJson(object)}\n`, shown);
    case 'yaml':
      return whole(toYaml, shown, '---\n');
    case 'name':
      return names();
    case 'jsonpath':
      return templated(needed(format, value), shown);
    case 'jsonpath-file':
      return templated(readFileSync(needed(format, value), 'utf8'), shown);
    case 'jsonpath-as-json':
      return valuesAsJson(needed(format, value), shown);
    case 'custom-columns':
      return columns(needed(format, value), flags.headers !== false);
    case 'custom-columns-file':
      return columns(columnsIn(readFileSync(needed(format, value), 'utf8')), flags.headers !== false);
    default:
      throw new UsageError(`-o: ${output} is no format; there are ${FORMATS.join(', ')}`);
  }
}

function needed(format: string, value: string): string {
  if (value === '') throw new UsageError(`-o ${format}: a value is missing: -o ${format}=…`);
  return value;
}

/** The first line of a file has the headers, the second one the paths. */
function columnsIn(text: string): string {
  const [headers = [], paths = []] = text.split('\n').map((line) => line.trim().split(/\s+/));
  if (headers.length !== paths.length)
    throw new UsageError('custom-columns-file: the lines have different numbers of columns');
  return headers.map((header, i) => `${header}:${paths[i] ?? ''}`).join(',');
}

type Show = (object: JsonObject) => JsonObject;

const listOf = (objects: readonly JsonObject[]): JsonObject => ({
  apiVersion: 'v1',
  kind: 'List',
  metadata: { resourceVersion: '' },
  items: [...objects],
});

function whole(text: (object: JsonObject) => string, show: Show, between = ''): ObjectPrinter {
  let printed = false;
  return {
    metadataOnly: false,
    all: (objects, isList) => text(isList ? listOf(objects.map(show)) : show(objects[0] ?? {})),
    one: (object) => {
      const separator = printed ? between : '';
      printed = true;
      return separator + text(show(object));
    },
  };
}

function names(): ObjectPrinter {
  const one = (object: JsonObject): string => `${nameOf(object)}\n`;
  return { metadataOnly: true, all: (objects) => objects.map(one).join(''), one };
}

function nameOf(object: JsonObject): string {
  const [group = '', version] = textAt(object, 'apiVersion').split('/');
  const kind = textAt(object, 'kind').toLowerCase();
  return `${kind}${version === undefined ? '' : `.${group}`}/${textAt(objectAt(object, 'metadata'), 'name')}`;
}

/** Returns the name of an object as `-o name` writes it. */
export const namedAs = (resource: Resource, name: string): string => `${kindName(resource)}/${name}`;

function templated(text: string, show: Show): ObjectPrinter {
  const template = new Template(text);
  return {
    metadataOnly: false,
    all: (objects, isList) => template.apply(isList ? listOf(objects.map(show)) : show(objects[0] ?? {})),
    one: (object) => template.apply(show(object)),
  };
}

function valuesAsJson(text: string, show: Show): ObjectPrinter {
  const template = new Template(text);
  const print = (object: JsonObject): string => `${indentedJson([...template.values(object)])}\n`;
  return {
    metadataOnly: false,
    all: (objects, isList) => print(isList ? listOf(objects.map(show)) : show(objects[0] ?? {})),
    one: (object) => print(show(object)),
  };
}

function columns(spec: string, headers: boolean): ObjectPrinter {
  const printer = new CustomColumns(spec, headers);
  return { metadataOnly: false, all: (objects) => printer.print(objects), one: (object) => printer.print([object]) };
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isObject(metadata) || metadata['managedFields'] === undefined) return object;
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}
