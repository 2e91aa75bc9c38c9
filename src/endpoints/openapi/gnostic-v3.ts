import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { wireFixed64, wireVarint } from '../../apimachinery/protobuf/wire.js';
import { any, anys, eachReversed, extensions, named, Writer } from './gnostic.js';

type Write = (writer: Writer, from: JsonObject) => void;

/** Writes a member that is a message. */
function message(writer: Writer, id: number, value: JsonValue | undefined, write: Write): void {
  if (isObject(value)) writer.inner(id, () => write(writer, value));
}

/** Writes a repeated member. */
function messages(writer: Writer, id: number, values: JsonValue | undefined, write: Write): void {
  if (Array.isArray(values)) for (let i = values.length - 1; i >= 0; i--) message(writer, id, values[i], write);
}

/** Writes a map as a message of pairs. */
function map(writer: Writer, id: number, value: JsonValue | undefined, write: Write): void {
  message(writer, id, value, (inner, members) =>
    eachReversed(members, (name, member) => {
      if (isObject(member)) named(inner, 1, name, () => write(inner, member));
    }),
  );
}

/** Wraps `write` for a value that may be a reference instead: a oneof of two members. */
const orReference =
  (write: Write): Write =>
  (writer, from) => {
    if (typeof from['$ref'] === 'string') {
      writer.inner(2, () => {
        writer.string(3, from['description']);
        writer.string(2, from['summary']);
        writer.string(1, from['$ref']);
      });
    } else writer.inner(1, () => write(writer, from));
  };

/** Writes a boolean or number of a oneof, where zero differs from absent. */
function choice(writer: Writer, id: number, value: boolean | number): void {
  if (typeof value === 'boolean') writer.varint(value ? 1 : 0);
  else writer.double(value);
  writer.tag(id, typeof value === 'boolean' ? wireVarint : wireFixed64);
}

function defaultValue(writer: Writer, value: JsonValue): void {
  if (typeof value === 'string') writer.present(3, value);
  else if (typeof value === 'boolean') choice(writer, 2, value);
  else if (typeof value === 'number' || typeof value === 'bigint') choice(writer, 1, Number(value));
}

const schemaOrReference: Write = (writer, from) => orReference(schema)(writer, from);

function schema(writer: Writer, from: JsonObject): void {
  extensions(writer, 36, from);
  writer.string(35, from['format']);
  writer.string(34, from['description']);
  const { default: preset, additionalProperties } = from;
  if (preset !== undefined) writer.inner(33, () => defaultValue(writer, preset));
  if (isObject(additionalProperties)) {
    writer.inner(32, () => writer.inner(1, () => schemaOrReference(writer, additionalProperties)));
  } else if (typeof additionalProperties === 'boolean') {
    writer.inner(32, () => choice(writer, 2, additionalProperties));
  }
  map(writer, 31, from['properties'], schemaOrReference);
  message(writer, 30, from['items'], (inner, items) => inner.inner(1, () => schemaOrReference(inner, items)));
  message(writer, 29, from['not'], schema);
  messages(writer, 28, from['anyOf'], schemaOrReference);
  messages(writer, 27, from['oneOf'], schemaOrReference);
  messages(writer, 26, from['allOf'], schemaOrReference);
  writer.string(25, from['type']);
  anys(writer, 24, from['enum']);
  writer.strings(23, from['required']);
  writer.integer(22, from['minProperties']);
  writer.integer(21, from['maxProperties']);
  writer.bool(20, from['uniqueItems']);
  writer.integer(19, from['minItems']);
  writer.integer(18, from['maxItems']);
  writer.string(17, from['pattern']);
  writer.integer(16, from['minLength']);
  writer.integer(15, from['maxLength']);
  writer.bool(14, from['exclusiveMinimum']);
  writer.number(13, from['minimum']);
  writer.bool(12, from['exclusiveMaximum']);
  writer.number(11, from['maximum']);
  writer.number(10, from['multipleOf']);
  writer.string(9, from['title']);
  any(writer, 7, from['example']);
  message(writer, 6, from['externalDocs'], externalDocs);
  writer.bool(1, from['nullable']);
}

function externalDocs(writer: Writer, from: JsonObject): void {
  writer.string(2, from['url']);
  writer.string(1, from['description']);
}

const mediaType: Write = (writer, from) => message(writer, 1, from['schema'], schemaOrReference);

const parameter = orReference((writer, from) => {
  message(writer, 10, from['schema'], schemaOrReference);
  writer.bool(4, from['required']);
  writer.string(3, from['description']);
  writer.string(2, from['in']);
  writer.string(1, from['name']);
});

const requestBody = orReference((writer, from) => {
  writer.bool(3, from['required']);
  map(writer, 2, from['content'], mediaType);
  writer.string(1, from['description']);
});

const response = orReference((writer, from) => {
  map(writer, 3, from['content'], mediaType);
  writer.string(1, from['description']);
});

const responses: Write = (writer, from) => {
  eachReversed(from, (code, value) => {
    if (code !== 'default' && isObject(value)) named(writer, 2, code, () => response(writer, value));
  });
  message(writer, 1, from['default'], response);
};

const operation: Write = (writer, from) => {
  extensions(writer, 13, from);
  writer.bool(10, from['deprecated']);
  message(writer, 8, from['responses'], responses);
  message(writer, 7, from['requestBody'], requestBody);
  messages(writer, 6, from['parameters'], parameter);
  writer.string(5, from['operationId']);
  writer.string(3, from['description']);
  writer.string(2, from['summary']);
  writer.strings(1, from['tags']);
};

const METHODS: readonly (readonly [number, string])[] = [
  [10, 'patch'],
  [9, 'head'],
  [8, 'options'],
  [7, 'delete'],
  [6, 'post'],
  [5, 'put'],
  [4, 'get'],
];

const pathItem: Write = (writer, from) => {
  extensions(writer, 14, from);
  messages(writer, 13, from['parameters'], parameter);
  for (const [id, method] of METHODS) message(writer, id, from[method], operation);
};

const securityScheme = orReference((writer, from) => {
  writer.string(4, from['in']);
  writer.string(3, from['name']);
  writer.string(2, from['description']);
  writer.string(1, from['type']);
});

const requirement: Write = (writer, from) =>
  eachReversed(from, (name, scopes) => named(writer, 1, name, () => writer.strings(1, scopes)));

/** Encodes an OpenAPI v3 document in Protobuf, in gnostic's messages (openapi.v3). */
export function encodeDocumentV3(document: JsonObject): Uint8Array {
  const writer = new Writer(65536);
  messages(writer, 6, document['security'], requirement);
  message(writer, 5, document['components'], (inner, components) => {
    map(inner, 7, components['securitySchemes'], securityScheme);
    map(inner, 1, components['schemas'], schemaOrReference);
  });
  message(writer, 4, document['paths'], (inner, paths) =>
    eachReversed(paths, (path, item) => {
      if (isObject(item)) named(inner, 1, path, () => pathItem(inner, item));
    }),
  );
  message(writer, 2, document['info'], (inner, info) => {
    inner.string(6, info['version']);
    inner.string(2, info['description']);
    inner.string(1, info['title']);
  });
  writer.string(1, document['openapi']);
  return writer.finish();
}
