/**
 * Measures the schema layer: prune, default, and validate. Run it as ES modules, like the server: jest's transform makes calls between
 * modules several times slower. Prints CPU microseconds per object, and milliseconds for the hostile cases.
 */
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import { CompiledSchema } from '../../src/schema/compile.js';
import { BENCH_SCHEMA } from './bench-crd.js';
import { benchObject } from './bench-object.js';

/** Returns the CPU time of this process in milliseconds, which excludes other work on the machine. */
function cpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Returns the microseconds per object of one pass over many objects. */
function measure(schema: CompiledSchema, objects: readonly JsonObject[], old: boolean): number {
  const start = cpu();
  for (const object of objects) {
    schema.prune(object, 'collect');
    schema.applyDefaults(object);
    const errors = schema.validate(object, old ? { old: object } : {});
    if (errors.length > 0) throw new Error(errors.join(', '));
  }
  return ((cpu() - start) * 1000) / objects.length;
}

function timed(title: string, run: () => number): void {
  const start = cpu();
  const found = run();
  console.log(`${title}: ${(cpu() - start).toFixed(1)} ms, ${String(found)} errors`);
}

const nested = (depth: number, leaf: JsonValue): JsonValue => {
  let value = leaf;
  for (let i = 0; i < depth; i++) value = { a: value };
  return value;
};

function hostile(): void {
  const pattern = new CompiledSchema({ type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } });
  timed('exponential pattern on 100 kB', () => pattern.validate({ x: `${'a'.repeat(100_000)}!` }, {}).length);
  const list = new CompiledSchema({ type: 'object', properties: { x: { type: 'array', items: { type: 'integer' } } } });
  const wrong = { x: Array.from({ length: 1e6 }, () => 'x') };
  const right = { x: Array.from({ length: 1e6 }, () => 1) };
  timed('a million wrong items', () => list.validate(wrong, {}).length);
  timed('a million right items', () => list.validate(right, {}).length);
  const unknown: JsonObject = {};
  for (let i = 0; i < 300_000; i++) unknown[`field-${String(i)}`] = 1;
  timed('300,000 unknown fields', () => list.prune(unknown, 'collect').length);
  timed('nesting of 5,000 levels', () => list.prune({ x: nested(5000, 1) }, 'collect').length);
  const alternatives = Array.from({ length: 2000 }, (_, i) => ({ properties: { a: { enum: [`v${String(i)}`] } } }));
  const union = new CompiledSchema({
    type: 'object',
    properties: {
      x: { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } }, anyOf: alternatives } },
    },
  });
  timed('2,000 alternatives for 10,000 items', () => {
    return union.validate({ x: Array.from({ length: 10_000 }, () => ({ a: 'none' })) }, {}).length;
  });
  const wide: JsonObject = {};
  for (let i = 0; i < 1000; i++) {
    const inner: JsonObject = {};
    for (let j = 0; j < 100; j++)
      inner[`p${String(j)}`] = { type: 'string', default: 'x', pattern: `^a{${String(j)}}$` };
    wide[`p${String(i)}`] = { type: 'object', properties: inner, default: {} };
  }
  timed('compiling 100,000 properties', () =>
    new CompiledSchema({ type: 'object', properties: wide }).hash === '' ? 1 : 0,
  );
  const defaults = new CompiledSchema({ type: 'object', properties: wide });
  timed('setting 100,000 defaults', () => {
    const object: JsonObject = {};
    defaults.applyDefaults(object);
    return Object.keys(object).length - 1000;
  });
}

function main(): void {
  const schema = new CompiledSchema(BENCH_SCHEMA);
  for (const size of [2048, 20_480]) {
    for (let round = 0; round < 5; round++) {
      const objects = Array.from({ length: 4000 }, (_, i) => benchObject(i, size));
      const create = measure(schema, objects, false);
      const update = measure(schema, objects, true);
      if (round === 4) {
        console.log(`${String(size)} bytes: create ${create.toFixed(1)} us, update ${update.toFixed(1)} us an object`);
      }
    }
  }
  hostile();
}

main();
