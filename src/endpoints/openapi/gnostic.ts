import { toYaml } from '../../apimachinery/yaml/emitter.js';
import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { ReverseWriter, wireBytes, wireFixed64, wireVarint } from '../../apimachinery/protobuf/wire.js';

/**
 * Writes OpenAPI v2 in Protobuf, in gnostic's messages (openapi.v2). Messages are written from their end, so fields are listed in
 * descending order.
 */
export class Writer extends ReverseWriter {
  string(id: number, value: JsonValue | undefined): void {
    if (typeof value === 'string' && value !== '') this.present(id, value);
  }

  /** Writes a string even if it is empty. */
  present(id: number, value: string): void {
    const before = this.length;
    this.text(value);
    this.close(id, before);
  }

  strings(id: number, values: JsonValue | undefined): void {
    if (Array.isArray(values)) for (let i = values.length - 1; i >= 0; i--) this.string(id, values[i]);
  }

  bool(id: number, value: JsonValue | undefined): void {
    if (value !== true) return;
    this.varint(1);
    this.tag(id, wireVarint);
  }

  integer(id: number, value: JsonValue | undefined): void {
    if (typeof value === 'bigint') this.bigVarint(value);
    else if (typeof value === 'number' && value !== 0) this.varint(Math.trunc(value));
    else return;
    this.tag(id, wireVarint);
  }

  number(id: number, value: JsonValue | undefined): void {
    if ((typeof value !== 'number' || value === 0) && typeof value !== 'bigint') return;
    this.double(Number(value));
    this.tag(id, wireFixed64);
  }

  inner(id: number, write: () => void): void {
    const before = this.length;
    write();
    this.close(id, before);
  }

  private close(id: number, before: number): void {
    this.varint(this.length - before);
    this.tag(id, wireBytes);
  }
}

/** Writes gnostic's Any: the value as YAML text. */
export function any(writer: Writer, id: number, value: JsonValue | undefined): void {
  if (value !== undefined) writer.inner(id, () => writer.string(2, toYaml(value)));
}

export function anys(writer: Writer, id: number, values: JsonValue | undefined): void {
  if (Array.isArray(values)) for (let i = values.length - 1; i >= 0; i--) any(writer, id, values[i]);
}

/** Writes a name with a value, gnostic's form of a map entry. */
export function named(writer: Writer, id: number, name: string, value: () => void): void {
  writer.inner(id, () => {
    writer.inner(2, value);
    writer.string(1, name);
  });
}

export function eachReversed(object: JsonObject, visit: (key: string, value: JsonValue) => void): void {
  const keys = Object.keys(object);
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] as string;
    const value = object[key];
    if (value !== undefined) visit(key, value);
  }
}

export function extensions(writer: Writer, id: number, object: JsonObject): void {
  eachReversed(object, (key, value) => {
    if (!key.startsWith('x-')) return;
    named(writer, id, key, () => writer.string(2, toYaml(value)));
  });
}

function schemas(writer: Writer, id: number, properties: JsonValue | undefined): void {
  if (!isObject(properties)) return;
  writer.inner(id, () =>
    eachReversed(properties, (name, value) => {
      if (isObject(value)) named(writer, 1, name, () => schema(writer, value));
    }),
  );
}

function schema(writer: Writer, from: JsonObject): void {
  extensions(writer, 31, from);
  any(writer, 30, from['example']);
  const docs = from['externalDocs'];
  if (isObject(docs)) {
    writer.inner(29, () => {
      writer.string(2, docs['url']);
      writer.string(1, docs['description']);
    });
  }
  schemas(writer, 25, from['properties']);
  const { items, additionalProperties } = from;
  if (isObject(items)) writer.inner(23, () => writer.inner(1, () => schema(writer, items)));
  if (typeof from['type'] === 'string') writer.inner(22, () => writer.string(1, from['type']));
  if (isObject(additionalProperties))
    writer.inner(21, () => writer.inner(1, () => schema(writer, additionalProperties)));
  else if (additionalProperties === true) writer.inner(21, () => writer.bool(2, true));
  anys(writer, 20, from['enum']);
  writer.strings(19, from['required']);
  writer.integer(18, from['minProperties']);
  writer.integer(17, from['maxProperties']);
  writer.bool(16, from['uniqueItems']);
  writer.integer(15, from['minItems']);
  writer.integer(14, from['maxItems']);
  writer.string(13, from['pattern']);
  writer.integer(12, from['minLength']);
  writer.integer(11, from['maxLength']);
  writer.bool(10, from['exclusiveMinimum']);
  writer.number(9, from['minimum']);
  writer.bool(8, from['exclusiveMaximum']);
  writer.number(7, from['maximum']);
  writer.number(6, from['multipleOf']);
  any(writer, 5, from['default']);
  writer.string(4, from['description']);
  writer.string(3, from['title']);
  writer.string(2, from['format']);
  writer.string(1, from['$ref']);
}

/** Encodes a NamedSchema of the document's definitions. */
export function encodeDefinition(name: string, from: JsonObject): Uint8Array {
  const writer = new Writer(4096);
  named(writer, 1, name, () => schema(writer, from));
  return writer.finish();
}

function parameter(writer: Writer, id: number, from: JsonObject): void {
  writer.inner(id, () =>
    writer.inner(1, () => {
      if (from['in'] === 'body') writer.inner(1, () => bodyParameter(writer, from));
      else writer.inner(2, () => writer.inner(from['in'] === 'path' ? 4 : 3, () => plainParameter(writer, from)));
    }),
  );
}

function bodyParameter(writer: Writer, from: JsonObject): void {
  const body = from['schema'];
  if (isObject(body)) writer.inner(5, () => schema(writer, body));
  writer.bool(4, from['required']);
  writer.string(3, from['in']);
  writer.string(2, from['name']);
  writer.string(1, from['description']);
}

function plainParameter(writer: Writer, from: JsonObject): void {
  const inPath = from['in'] === 'path';
  writer.bool(inPath ? 19 : 20, from['uniqueItems']);
  writer.string(inPath ? 5 : 6, from['type']);
  writer.string(4, from['name']);
  writer.string(3, from['description']);
  writer.string(2, from['in']);
  writer.bool(1, from['required']);
}

function parameters(writer: Writer, id: number, list: JsonValue | undefined): void {
  if (!Array.isArray(list)) return;
  for (let i = list.length - 1; i >= 0; i--) {
    const one = list[i];
    if (isObject(one)) parameter(writer, id, one);
  }
}

function response(writer: Writer, from: JsonObject): void {
  const answer = from['schema'];
  if (isObject(answer)) writer.inner(2, () => writer.inner(1, () => schema(writer, answer)));
  writer.string(1, from['description']);
}

function operation(writer: Writer, from: JsonObject): void {
  extensions(writer, 13, from);
  writer.strings(10, from['schemes']);
  const responses = from['responses'];
  if (isObject(responses)) {
    writer.inner(9, () =>
      eachReversed(responses, (code, value) => {
        if (isObject(value)) named(writer, 1, code, () => writer.inner(1, () => response(writer, value)));
      }),
    );
  }
  parameters(writer, 8, from['parameters']);
  writer.strings(7, from['consumes']);
  writer.strings(6, from['produces']);
  writer.string(5, from['operationId']);
  writer.string(3, from['description']);
  writer.strings(1, from['tags']);
}

const methods: readonly (readonly [number, string])[] = [
  [8, 'patch'],
  [5, 'delete'],
  [4, 'post'],
  [3, 'put'],
  [2, 'get'],
];

/** Encodes a NamedPathItem of the document's paths. */
export function encodePath(path: string, from: JsonObject): Uint8Array {
  const writer = new Writer(4096);
  named(writer, 2, path, () => {
    parameters(writer, 9, from['parameters']);
    for (const [id, method] of methods) {
      const one = from[method];
      if (isObject(one)) writer.inner(id, () => operation(writer, one));
    }
  });
  return writer.finish();
}

/** Encodes the document from its encoded paths and definitions. */
export function encodeDocument(
  info: { readonly title: string; readonly version: string },
  paths: readonly Uint8Array[],
  definitions: readonly Uint8Array[],
): Uint8Array {
  const head = new Writer(256);
  head.inner(2, () => {
    head.string(2, info.version);
    head.string(1, info.title);
  });
  head.string(1, '2.0');
  const tail = new Writer(512);
  named(tail, 1, 'BearerToken', () => tail.inner(2, () => apiKey(tail)));
  const security = new Writer(64);
  security.inner(12, () => named(security, 1, 'BearerToken', () => undefined));
  return Buffer.concat([
    head.finish(),
    lengthOf(8, paths),
    ...paths,
    lengthOf(9, definitions),
    ...definitions,
    security.finish(),
    lengthOf(13, [tail.finish()]),
    tail.finish(),
  ]);
}

function apiKey(writer: Writer): void {
  writer.string(4, 'Bearer Token authentication');
  writer.string(3, 'header');
  writer.string(2, 'authorization');
  writer.string(1, 'apiKey');
}

/** Encodes the tag and length of a message whose parts are already encoded. */
function lengthOf(id: number, parts: readonly Uint8Array[]): Uint8Array {
  const writer = new ReverseWriter(16);
  writer.varint(parts.reduce((sum, part) => sum + part.length, 0));
  writer.tag(id, wireBytes);
  return writer.finish();
}
