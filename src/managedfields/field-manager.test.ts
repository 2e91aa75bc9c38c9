import { ApiError } from '../apimachinery/meta/errors.js';
import { deepCopy, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import type { KubeObject, ManagedFieldsEntry } from '../apimachinery/meta/meta.js';
import { customResourceType } from '../structured-merge-diff/schema/custom-resource.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { growth } from '../../test/fakes/util/growth.js';
import { FieldManager, validateManagedFields } from './field-manager.js';
import { ConversionPending, type FieldManagerOptions, MissingVersionError } from './interfaces.js';

const text = { type: 'string' };
const struct = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const keyed = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
const type = customResourceType(
  struct({
    spec: struct({
      text,
      replicas: { type: 'integer' },
      items: { ...keyed, items: struct({ name: text, value: text }) },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    }),
    status: struct({ phase: text }),
  }),
);
const kind = { group: 'example.com', version: 'v1', kind: 'Widget' };
const START = Date.UTC(2026, 0, 1);

function setup(more: Partial<FieldManagerOptions> = {}): {
  clock: FakeClock;
  errors: string[];
  manager: FieldManager;
} {
  const clock = new FakeClock(START);
  const errors: string[] = [];
  const manager = new FieldManager({
    kind,
    subresource: '',
    typeOf: (version) => (version === 'example.com/v1' || version === 'example.com/v2' ? type : undefined),
    resetFields: { '*': [['status']] },
    clock,
    onError: (error) => errors.push(error instanceof Error ? error.message : String(error)),
    ...more,
  });
  return { clock, errors, manager };
}

function widget(spec: JsonObject, managedFields?: ManagedFieldsEntry[]): KubeObject {
  const metadata: KubeObject['metadata'] = { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1' };
  if (managedFields !== undefined) metadata.managedFields = managedFields;
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec };
}

const configuration = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'a', ...metadata },
  spec,
});

const entry = (manager: string, fieldsV1: JsonObject, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  apiVersion: 'example.com/v1',
  time: '2025-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...more,
});

const TEXT = { 'f:spec': { 'f:text': {} } };

function failure(run: () => unknown): ApiError {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('no error');
}

describe('update', () => {
  test('an unchanged object keeps its entries and their times', () => {
    const { manager } = setup();
    const entries = [entry('a', TEXT)];
    const next = manager.update(widget({ text: 'x' }, deepCopy(entries)), widget({ text: 'x' }, entries), 'b');
    expect(next.metadata.managedFields?.[0]).toBe(entries[0]);
  });

  test('an update by the same manager sets a new time and keeps its fields', () => {
    const { manager } = setup();
    const next = manager.update(
      widget({ text: 'x' }, [entry('a', TEXT)]),
      widget({ text: 'y' }, [entry('a', TEXT)]),
      'a',
    );
    expect(next.metadata.managedFields).toEqual([entry('a', TEXT, { time: '2026-01-01T00:00:00Z' })]);
  });

  test('changes nothing but managedFields of the new object', () => {
    const { manager } = setup();
    const live = Object.freeze(widget({ text: 'x', items: [{ name: 'i' }] }, [entry('a', TEXT)]));
    const before = JSON.stringify(live);
    const next = widget({ text: 'y', items: [{ name: 'j' }] });
    const { managedFields: _entries, ...rest } = manager.update(live, next, 'b').metadata;
    expect(JSON.stringify(live)).toBe(before);
    expect({ ...next, metadata: rest }).toEqual(widget({ text: 'y', items: [{ name: 'j' }] }));
  });

  test('a manager without a name is recorded as unknown', () => {
    const { manager } = setup();
    expect(manager.update(undefined, widget({ text: 'x' }), '').metadata.managedFields?.[0]?.manager).toBe('unknown');
  });

  test.each<[string, JsonValue]>([
    ['an invalid operation', [entry('a', {}, { operation: 'Foo' })]],
    ['no version', [entry('a', {}, { apiVersion: '' })]],
    ['no type', [entry('a', {}, { fieldsType: '' })]],
    ['another type', [entry('a', {}, { fieldsType: 'FieldsV2' })]],
    ['fields that cannot be read', [entry('a', { bad: {} })]],
    ['an invalid time', [entry('a', TEXT, { time: 'soon' })]],
    ['no object', ['x']],
    ['no list', 'x'],
    ['an empty list', []],
  ])('uses the live entries if those of the request cannot be decoded: %s', (_name, given) => {
    const { manager, errors } = setup();
    const next = widget({ text: 'x' }) as JsonObject;
    (next['metadata'] as JsonObject)['managedFields'] = given;
    expect(
      manager.update(widget({ text: 'x' }, [entry('a', TEXT)]), next as KubeObject, 'b').metadata.managedFields,
    ).toEqual([entry('a', TEXT)]);
    expect(errors).toEqual([]);
  });

  test('one empty entry resets the managers, and none is tracked until the next apply', () => {
    const { manager } = setup();
    const next = manager.update(widget({ text: 'x' }, [entry('a', TEXT)]), widget({ text: 'y' }, [{}]), 'b');
    expect(next.metadata.managedFields).toBeUndefined();
    expect(manager.update(next, widget({ text: 'z' }), 'b').metadata.managedFields).toBeUndefined();
    const applied = manager.apply(next, configuration({ replicas: 1 }), { manager: 'c', force: false });
    expect(applied.metadata.managedFields?.map((e) => e.manager)).toEqual(['c', 'before-first-apply']);
  });

  test('subresources use the live entries', () => {
    const { manager } = setup({ subresource: 'status', resetFields: { '*': [['spec'], ['metadata']] } });
    const next = { ...widget({ text: 'x' }, [entry('forged', TEXT)]), status: { phase: 'p' } };
    const entries = manager.update(widget({ text: 'x' }, [entry('a', TEXT)]), next, 'b').metadata.managedFields;
    expect(entries?.map((e) => [e.manager, e.subresource])).toEqual([
      ['a', undefined],
      ['b', 'status'],
    ]);
  });

  test('a failure keeps the live entries', () => {
    const { manager, errors } = setup();
    const next = manager.update(widget({ text: 'x' }, [entry('a', TEXT)]), widget({ nope: 1 }), 'b');
    expect(next['spec']).toEqual({ nope: 1 });
    expect(next.metadata.managedFields).toEqual([entry('a', TEXT)]);
    expect(errors).toEqual([
      'failed to convert new object (n/a; example.com/v1, Kind=Widget) to smd typed: .spec.nope: field not declared in schema',
    ]);
  });

  test('managers of removed versions are dropped', () => {
    const converter = {
      convert: (_object: KubeObject, version: string): KubeObject => {
        throw new MissingVersionError(version);
      },
    };
    const { manager } = setup({ converter });
    const entries = [entry('old', TEXT, { apiVersion: 'example.com/v0' }), entry('a', TEXT)];
    expect(manager.update(widget({ text: 'x' }, entries), widget({ text: 'x' }), 'b').metadata.managedFields).toEqual([
      entry('a', TEXT),
    ]);
  });

  test('an invalid version keeps the live entries', () => {
    const { manager, errors } = setup();
    const entries = [entry('odd', TEXT, { apiVersion: 'a/b/c' }), entry('a', TEXT)];
    const next = manager.update(widget({ text: 'x' }, entries), widget({ text: 'x' }), 'b');
    expect(next.metadata.managedFields).toEqual(entries);
    expect(errors).toEqual(['unexpected GroupVersion string: a/b/c']);
  });

  test('the zero time is omitted', () => {
    const { manager } = setup();
    const { time: _, ...timeless } = entry('a', TEXT);
    const next = widget({ text: 'x' }, [entry('a', TEXT, { time: '0001-01-01T00:00:00Z' })]);
    expect(manager.update(widget({ text: 'x' }), next, 'b').metadata.managedFields).toEqual([timeless]);
  });

  test('a pending conversion is thrown, and a second call succeeds', async () => {
    let ready = false;
    const converter = {
      convert: (object: KubeObject, version: string): KubeObject => {
        if (ready) return { ...object, apiVersion: version };
        throw new ConversionPending(() => {
          ready = true;
          return Promise.resolve();
        });
      },
    };
    const { manager, errors } = setup({ converter });
    const live = widget({ text: 'x' }, [entry('other', TEXT, { apiVersion: 'example.com/v2' })]);
    const next = widget({ text: 'y' }, deepCopy(live.metadata.managedFields));
    const before = JSON.stringify(next);
    let pending: unknown;
    try {
      manager.update(live, next, 'b');
    } catch (error) {
      pending = error;
    }
    expect(pending).toBeInstanceOf(ConversionPending);
    expect(JSON.stringify(next)).toBe(before);
    await (pending as ConversionPending).ready();
    expect(manager.update(live, next, 'b').metadata.managedFields?.map((e) => e.manager)).toEqual(['b']);
    expect(errors).toEqual([]);
  });
});

describe('apply', () => {
  test('shares nothing with its arguments', () => {
    const { manager } = setup({ applyDefaults: (object) => ((object['spec'] as JsonObject)['replicas'] = 1) });
    const live = widget({ free: { a: [1] }, items: [{ name: 'i' }] }, [entry('a', TEXT)]);
    const config = configuration({ free: { b: [2] }, items: [{ name: 'j' }] });
    const before = JSON.stringify([live, config]);
    const object = manager.apply(live, config, { manager: 'b', force: false });
    const spec = object['spec'] as Record<string, JsonObject & JsonObject[]>;
    spec['free']!['a'] = 'changed';
    spec['items']![0]!['name'] = 'changed';
    spec['items']![1]!['name'] = 'changed';
    object.metadata.name = 'changed';
    expect(JSON.stringify([live, config])).toBe(before);
    expect(spec['replicas']).toBe(1);
  });

  test('an apply without changes keeps the time', () => {
    const { manager, clock } = setup();
    const first = manager.apply(undefined, configuration({ text: 'x' }), { manager: 'a', force: false });
    clock.advance(60_000);
    expect(
      manager.apply(first, configuration({ text: 'x' }), { manager: 'a', force: false }).metadata.managedFields,
    ).toEqual(first.metadata.managedFields);
    const changed = manager.apply(first, configuration({ text: 'y' }), { manager: 'a', force: false });
    expect(changed.metadata.managedFields?.[0]?.time).toBe('2026-01-01T00:01:00Z');
  });

  test('live entries that cannot be decoded are an error', () => {
    const { manager } = setup();
    const live = widget({}, [entry('a', {}, { operation: 'Foo' })]);
    const error = failure(() => manager.apply(live, configuration({}), { manager: 'b', force: false }));
    expect([error.code, error.message]).toEqual([
      500,
      'failed to decode managed fields: operation must be `Apply` or `Update`',
    ]);
  });

  test('refuses entries in a configuration, except those that cannot be decoded', () => {
    const { manager } = setup();
    const config = (entries: JsonObject[]): JsonObject => {
      const given = configuration({ text: 'x' });
      return { ...given, metadata: { ...(given['metadata'] as JsonObject), managedFields: entries } };
    };
    expect(() => manager.apply(undefined, config([{}]), { manager: 'a', force: false })).toThrow(
      'metadata.managedFields must be nil',
    );
    const applied = manager.apply(undefined, config([{ time: '' }]), { manager: 'a', force: false });
    expect(applied.metadata.managedFields?.map((e) => e.manager)).toEqual(['a']);
  });

  test('accepts a configuration without metadata', () => {
    const { manager } = setup();
    const object = manager.apply(
      undefined,
      { apiVersion: 'example.com/v1', kind: 'Widget', spec: { text: 'x' } },
      { manager: 'a', force: false },
    );
    expect(object.metadata.managedFields?.[0]?.fieldsV1).toEqual(TEXT);
  });

  test('last-applied-configuration follows an apply by kubectl, and is removed if it is too large', () => {
    const { manager } = setup();
    const live = widget({ text: 'x' });
    const name = 'kubectl.kubernetes.io/last-applied-configuration';
    live.metadata.annotations = { [name]: '{}' };
    const applied = (config: JsonObject, by: string): string | undefined =>
      manager.apply(live, config, { manager: by, force: false }).metadata.annotations?.[name];
    expect(applied(configuration({ text: 'x', replicas: 1 }), 'kubectl')).toBe(
      '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"replicas":1,"text":"x"}}\n',
    );
    expect(applied(configuration({ text: 'x' }), 'other')).toBe('{}');
    expect(applied(configuration({ free: { large: 'x'.repeat(256 * 1024) } }), 'kubectl')).toBeUndefined();
  });
});

describe('hostile input', () => {
  const nested = (depth: number): JsonObject => {
    let value: JsonObject = {};
    for (let i = 0; i < depth; i++) value = { a: value };
    return value;
  };

  test('deep objects', () => {
    const { manager } = setup();
    expect(manager.update(undefined, widget({ free: nested(900) }), 'a').metadata.managedFields).toHaveLength(1);
    // Not lost fields or an error for the client: a worker, whose stack is large enough, takes over.
    const overflow = 'Maximum call stack size exceeded';
    expect(() => manager.update(undefined, widget({ free: nested(100_000) }), 'a')).toThrow(overflow);
    const applied = (): unknown =>
      manager.apply(undefined, configuration({ free: nested(100_000) }), { manager: 'a', force: false });
    expect(applied).toThrow(overflow);
  });

  test('deep entries', () => {
    const { manager } = setup();
    let fields: JsonObject = {};
    for (let i = 0; i < 100_000; i++) fields = { 'f:a': fields };
    expect(manager.update(widget({}), widget({}, [entry('a', fields)]), 'b').metadata.managedFields).toBeUndefined();
  });

  test('ten megabytes of entries', () => {
    const { manager } = setup();
    const took = growth(100_000, (size) => {
      const fields: JsonObject = {};
      for (let i = 0; i < size; i++) fields[`k:{"name":"item-number-${i}-of-many-many-items"}`] = {};
      const live = widget({ text: 'x' }, [entry('a', { 'f:spec': { 'f:items': fields } })]);
      return () => manager.update(live, widget({ text: 'y' }), 'b');
    });
    expect(took).toBeLessThanOrEqual(1);
  });

  test('many managers', () => {
    const { manager } = setup();
    const took = growth(20_000, (size) => {
      const entries = Array.from({ length: size }, (_, i) => entry(`m${i}`, { 'f:spec': { [`f:x${i}`]: {} } }));
      const next = widget({ text: 'y' }, entries);
      return () => {
        manager.update(widget({ text: 'x' }), next, 'b');
        expect(next.metadata.managedFields).toHaveLength(10);
      };
    });
    expect(took).toBeLessThanOrEqual(1);
  });

  test('long lists', () => {
    const { manager } = setup();
    const lists = (count: number): readonly [live: JsonObject[], next: JsonObject[]] => {
      const items = (from: number): JsonObject[] =>
        Array.from({ length: count }, (_, i) => ({ name: `i${from - i}`, value: 'x' }));
      return [items(count), items(count + count / 4)];
    };
    const updated = growth(20_000, (size) => {
      const [before, after] = lists(size);
      const live = manager.update(undefined, widget({ items: before }), 'a');
      return () => manager.update(live, widget({ items: after }), 'b');
    });
    const applied = growth(20_000, (size) => {
      const [before, after] = lists(size);
      const live = manager.update(undefined, widget({ items: before }), 'a');
      return () => manager.apply(live, configuration({ items: after.reverse() }), { manager: 'c', force: true });
    });
    expect([updated <= 1, applied <= 1]).toEqual([true, true]);
  });

  test('names inherited from Object.prototype', () => {
    const { manager } = setup();
    const spec = JSON.parse('{"free":{"constructor":{"x":1},"__proto__":{"y":2},"toString":1}}') as JsonObject;
    const created = manager.update(undefined, widget(spec), 'a');
    const free = {
      '.': {},
      'f:__proto__': { '.': {}, 'f:y': {} },
      'f:constructor': { '.': {}, 'f:x': {} },
      'f:toString': {},
    };
    expect(JSON.stringify(created.metadata.managedFields?.[0]?.fieldsV1)).toBe(
      JSON.stringify({ 'f:spec': { '.': {}, 'f:free': free } }),
    );
    const merged = manager.apply(widget({ free: {} }), configuration(spec), { manager: 'b', force: false });
    expect(JSON.stringify(merged['spec'])).toBe(JSON.stringify(spec));
  });
});

test('validateManagedFields() returns the error', () => {
  expect(validateManagedFields([entry('a', TEXT)])).toBeUndefined();
  expect(validateManagedFields(undefined)).toBeUndefined();
  expect(validateManagedFields([entry('a', TEXT, { fieldsType: 'X' })])).toBe(
    'invalid fieldsType "X" in managed fields entry 0',
  );
});
