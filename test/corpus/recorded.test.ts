import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parseJson } from '../../src/apimachinery/json/decode.js';
import { type JsonObject, type JsonValue, deepCopy, stringifyJson } from '../../src/apimachinery/json/json.js';
import type { KubeObject } from '../../src/apimachinery/meta/meta.js';
import { customResourceDefinitionStrategy } from '../../src/registry/apiextensions/customresourcedefinition/strategy.js';
import type { RequestContext } from '../../src/request/context.js';
import { CompiledSchema } from '../../src/schema/compile.js';
import { tableConvertorFor } from '../../src/schema/columns/table.js';
import { type Served, create } from './corpus.js';

/** Returns recorded responses of kube-apiserver (see the README beside the files). */
function recorded(name: string): JsonValue {
  const path = join(__dirname, '../fixtures/schema', `${name}.json.gz`);
  return parseJson(gunzipSync(readFileSync(path)));
}

/** The order of errors is not compared, because kube-apiserver walks maps in random order. */
const sorted = (messages: readonly string[]): string[] => [...new Set(messages)].sort();

interface ObjectCase extends JsonObject {
  spec: JsonObject;
  strict: boolean;
  messages: string[];
  result?: JsonObject;
}

test('objects get the recorded messages and defaults', () => {
  const { schema, cases } = recorded('objects') as { schema: JsonObject; cases: ObjectCase[] };
  const served: Served = { kind: 'Thing', namespaced: false, hasStatus: true, schema: new CompiledSchema(schema) };
  expect(cases.length).toBeGreaterThan(800);
  for (const { spec, strict, messages, result } of cases) {
    const object = {
      apiVersion: 'schema.example.com/v1',
      kind: 'Thing',
      metadata: { name: 'a' },
      spec: deepCopy(spec),
    };
    const got = create(object, served, strict);
    const found = got.messages.some((text) => text.startsWith('unknown field'))
      ? [got.messages.join(', ')]
      : got.messages;
    const sent = stringifyJson(spec);
    expect({ sent, messages: sorted(found) }).toEqual({ sent, messages: sorted(messages) });
    if (result !== undefined) expect({ sent, spec: got.object['spec'] }).toEqual({ sent, spec: result });
  }
});

interface Updates extends JsonObject {
  schema: JsonObject;
  columns: JsonObject[];
  table: { columnDefinitions: JsonObject[]; cells: JsonValue[] };
  object: KubeObject;
  old: KubeObject;
  cases: { spec: JsonObject; messages: string[] }[];
}

test('updates ignore errors of unchanged values (ratcheting)', () => {
  const { schema, old, cases } = recorded('updates') as Updates;
  const compiled = new CompiledSchema(schema);
  for (const { spec, messages } of cases) {
    const found = compiled.validate({ ...old, spec }, { old }).map(String);
    expect({ spec, messages: sorted(found) }).toEqual({ spec, messages: sorted(messages) });
  }
});

test('tables have the recorded columns and cells', () => {
  const { columns, table, object } = recorded('updates') as Updates;
  const convertor = tableConvertorFor(columns);
  expect(convertor.columns).toEqual(table.columnDefinitions);
  const created = Date.parse(object.metadata.creationTimestamp ?? '');
  expect(convertor.cells(object, created)).toEqual(table.cells);
});

interface DefinitionCase extends JsonObject {
  op: 'create' | 'update';
  body: KubeObject;
  messages: string[];
}

test('definitions get the recorded messages', () => {
  const { base, cases } = recorded('definitions') as { base: KubeObject; cases: DefinitionCase[] };
  const strategy = customResourceDefinitionStrategy;
  const context = {} as RequestContext;
  expect(cases.length).toBeGreaterThan(150);
  for (const { op, body, messages } of cases) {
    const crd = deepCopy(body);
    let found: string[];
    if (op === 'create') {
      strategy.prepareForCreate?.(context, crd);
      found = strategy.validateCreate(context, crd).map(String);
    } else {
      strategy.prepareForUpdate?.(context, crd, base);
      found = strategy.validateUpdate(context, crd, base).map(String);
    }
    const sent = stringifyJson(body['spec'] ?? null);
    expect({ sent, messages: sorted(found) }).toEqual({ sent, messages: sorted(messages) });
  }
});
