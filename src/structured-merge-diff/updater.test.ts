import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { compare } from './compare.js';
import { customResourceType } from './schema/custom-resource.js';
import type { FieldSet } from './fieldpath/field-set.js';
import { toFieldSet } from './to-field-set.js';
import { ConflictsError, type Managers, type TypedValue, Updater } from './updater.js';
import { validateValue } from './validate.js';

const text = { type: 'string' };
const struct = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: text };
const keyed = (keys: string[], properties: JsonObject): JsonObject => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: struct(properties),
});
const schemaWith = (more: JsonObject = {}): JsonObject =>
  struct({
    text,
    part: struct({ x: text, y: text }),
    whole: { ...struct({ x: text, y: text }), 'x-kubernetes-map-type': 'atomic' },
    map: { type: 'object', additionalProperties: text },
    list: { type: 'array', items: text },
    set,
    keyed: keyed(['key'], { key: text, value: text, inner: struct({ x: text }), tags: set }),
    ports: keyed(['port', 'protocol'], {
      port: { type: 'integer' },
      protocol: { type: 'string', default: 'TCP' },
      name: text,
    }),
    slots: keyed(['slot'], { slot: { type: 'integer', default: 0 }, name: text }),
    any: { 'x-kubernetes-preserve-unknown-fields': true },
    ...more,
  });
const types = new Map([
  ['v1', customResourceType(schemaWith())],
  // Another version of the type, in which maps and lists are atomic.
  [
    'v2',
    customResourceType(
      schemaWith({
        part: { ...struct({ x: text, y: text }), 'x-kubernetes-map-type': 'atomic' },
        set: { type: 'array', items: text },
      }),
    ),
  ],
]);

/** An object that managers write to, one after another. */
class World {
  value: JsonObject = {};
  managers: Managers = new Map();
  readonly updater: Updater;

  constructor(ignored?: FieldSet) {
    this.updater = new Updater(
      (value, version) => {
        const type = types.get(version);
        return type === undefined ? undefined : { version, type, value: value.value };
      },
      () => ignored,
    );
  }

  apply(manager: string, config: JsonObject, { force = false, version = 'v1' } = {}): this {
    const result = this.updater.apply(
      this.typed(this.value, version),
      this.typed(config, version),
      this.managers,
      manager,
      force,
    );
    this.managers = result.managers;
    if (result.value !== undefined) this.value = result.value.value as JsonObject;
    return this;
  }

  update(manager: string, value: JsonObject, version = 'v1'): this {
    this.managers = this.updater.update(
      this.typed(this.value, version),
      this.typed(value, version),
      this.managers,
      manager,
    );
    this.value = value;
    return this;
  }

  conflicts(manager: string, config: JsonObject): string[] {
    try {
      this.apply(manager, config);
    } catch (error) {
      if (error instanceof ConflictsError)
        return error.conflicts.map(({ manager: by, path }) => `${by} ${path.join('')}`);
      throw error;
    }
    return [];
  }

  owned(manager: string): string {
    return this.managers.get(manager)?.set.toString() ?? '';
  }

  private typed(value: JsonValue, version: string): TypedValue {
    const type = types.get(version)!;
    validateValue(type, value, 'duplicates allowed');
    return { version, type, value };
  }
}

const world = (): World => new World();

describe('apply', () => {
  test.each<[string, (w: World) => World, JsonObject, Record<string, string>]>([
    [
      'merges',
      (w) => w.apply('a', { text: 'x' }).apply('b', { part: { x: '1' } }),
      { text: 'x', part: { x: '1' } },
      { a: '.text', b: '.part.x' },
    ],
    [
      'removes what the manager no longer applies',
      (w) => w.apply('a', { text: 'x', part: { x: '1', y: '2' } }).apply('a', { part: { y: '2' } }),
      { part: { y: '2' } },
      { a: '.part.y' },
    ],
    [
      'removes an item of which only the default of its key is left, when it is applied again',
      (w) => {
        const config = { slots: [{}, { slot: 1, name: 'x' }] };
        w.apply('a', config).value = { slots: [{ slot: 0 }, { slot: 1, name: 'x' }] };
        return w.apply('a', config);
      },
      { slots: [{ slot: 1, name: 'x' }] },
      { a: '.slots[slot=0]\n.slots[slot=1]\n.slots[slot=1].name\n.slots[slot=1].slot' },
    ],
    [
      'keeps what another applied too',
      (w) =>
        w
          .apply('a', { text: 'x' })
          .apply('b', { text: 'x' })
          .apply('a', { map: { k: 'v' } }),
      { text: 'x', map: { k: 'v' } },
      { a: '.map.k', b: '.text' },
    ],
    [
      'keeps what an updater set',
      (w) =>
        w
          .apply('a', { part: { x: '1' } })
          .update('u', { part: { x: '1', y: '2' } })
          .apply('a', { text: 'x' }),
      { text: 'x', part: { y: '2' } },
      { a: '.text', u: '.part.y' },
    ],
    [
      'merges items by key',
      (w) =>
        w
          .apply('a', { keyed: [{ key: 'k', value: '1' }] })
          .apply('b', { keyed: [{ key: 'k', inner: { x: '2' } }, { key: 'l' }] }),
      { keyed: [{ key: 'k', value: '1', inner: { x: '2' } }, { key: 'l' }] },
      { a: '.keyed[key="k"]\n.keyed[key="k"].key\n.keyed[key="k"].value' },
    ],
    [
      'removes an item when its last applier gives it up',
      (w) =>
        w
          .apply('a', { keyed: [{ key: 'k' }, { key: 'l' }] })
          .apply('b', { keyed: [{ key: 'l' }] })
          .apply('a', { keyed: [{ key: 'l' }] })
          .apply('b', {}),
      { keyed: [{ key: 'l' }] },
      { a: '.keyed[key="l"]\n.keyed[key="l"].key', b: '' },
    ],
    [
      'defaults of keys tell items apart',
      (w) =>
        w.apply('a', { ports: [{ port: 1, name: 'x' }] }).apply('b', {
          ports: [
            { port: 1, protocol: 'TCP' },
            { port: 1, protocol: 'UDP' },
          ],
        }),
      {
        ports: [
          { port: 1, name: 'x', protocol: 'TCP' },
          { port: 1, protocol: 'UDP' },
        ],
      },
      { a: '.ports[port=1,protocol="TCP"]\n.ports[port=1,protocol="TCP"].name\n.ports[port=1,protocol="TCP"].port' },
    ],
    [
      'sets are united',
      (w) =>
        w
          .apply('a', { set: ['a', 'b'] })
          .apply('b', { set: ['c', 'b'] })
          .apply('a', { set: ['a'] }),
      { set: ['a', 'c', 'b'] },
      { a: '.set[="a"]', b: '.set[="b"]\n.set[="c"]' },
    ],
    [
      'the order of a configuration wins',
      (w) =>
        w
          .apply('a', { keyed: [{ key: 'a' }, { key: 'b' }, { key: 'c' }] })
          .apply('b', { keyed: [{ key: 'c' }, { key: 'a' }] }),
      { keyed: [{ key: 'b' }, { key: 'c' }, { key: 'a' }] },
      {},
    ],
    [
      'atomic maps and lists are one field',
      (w) =>
        w
          .apply('a', { whole: { x: '1' }, list: ['a'] })
          .apply('b', { whole: { y: '2' }, list: ['b'] }, { force: true }),
      { whole: { y: '2' }, list: ['b'] },
      { a: '', b: '.list\n.whole' },
    ],
    [
      'an empty map is a field',
      (w) => w.apply('a', { part: {}, map: {} }),
      { part: {}, map: {} },
      { a: '.map\n.part' },
    ],
    [
      'whatever was applied to an untyped field',
      (w) =>
        w
          .apply('a', { any: { a: { b: 1 }, l: [1] } })
          .apply('b', { any: { a: { c: 2 } } })
          .apply('a', { any: { l: [1] } }),
      { any: { a: { c: 2 }, l: [1] } },
      { a: '.any.l', b: '.any.a\n.any.a.c' },
    ],
  ])('%s', (_name, act, value, owned) => {
    const after = act(world());
    expect(after.value).toEqual(value);
    for (const [manager, fields] of Object.entries(owned)) expect(after.owned(manager)).toBe(fields);
  });

  test('a conflict names every field and its owner, and changes nothing', () => {
    const w = world()
      .apply('a', { text: 'x', keyed: [{ key: 'k', value: '1' }] })
      .update('u', { text: 'x', keyed: [{ key: 'k', value: '1' }], set: ['s'] });
    const before = structuredClone(w.value);
    expect(w.conflicts('b', { text: 'y', keyed: [{ key: 'k', value: '2' }], set: ['s', 't'] })).toEqual([
      'a .text',
      'a .keyed[key="k"].value',
    ]);
    expect(w.value).toEqual(before);
    expect([...w.managers.keys()]).toEqual(['a', 'u']);
    expect(w.conflicts('b', { text: 'x', set: ['s'] })).toEqual([]);
  });

  test('force takes over the fields', () => {
    const w = world()
      .apply('a', { text: 'x', part: { x: '1' } })
      .apply('b', { text: 'y' }, { force: true });
    expect(w.owned('a')).toBe('.part.x');
    expect(w.owned('b')).toBe('.text');
  });

  test('a change of a value takes ownership from all other managers', () => {
    const w = world().apply('a', { text: 'x' }).apply('b', { text: 'x' }).update('u', { text: 'z' });
    expect([...w.managers.keys()]).toEqual(['u']);
  });

  test('ignored fields have no owner', () => {
    const w = new World(toFieldSet(types.get('v1')!, { text: '' })).apply('a', { text: 'x', map: { k: 'v' } });
    expect(w.owned('a')).toBe('.map.k');
    expect(w.update('u', { text: 'y', map: { k: 'v' } }).owned('u')).toBe('');
  });

  test('managers of removed versions are dropped', () => {
    const w = world().apply('a', { text: 'x' });
    w.managers.set('old', { set: toFieldSet(types.get('v1')!, { text: '' }), apiVersion: 'v0', applied: true });
    expect([...w.apply('b', { text: 'y' }, { force: true }).managers.keys()]).toEqual(['b']);
  });

  test('a field that becomes atomic belongs as a whole to the owner of a part', () => {
    const w = world().apply('a', { part: { x: '1' }, set: ['s'] });
    w.managers.set('a', { ...w.managers.get('a')!, apiVersion: 'v2' });
    expect(w.update('u', { part: { x: '1' }, set: ['s'], text: 't' }, 'v2').owned('a')).toBe('.part\n.set');
  });

  test('existing duplicates are one value', () => {
    const w = world().update('u', { keyed: [{ key: 'k', value: '1' }, { key: 'k', value: '2' }, { key: 'l' }] });
    expect(w.owned('u')).toBe('.keyed\n.keyed[key="k"]\n.keyed[key="l"]\n.keyed[key="l"].key');
    w.update('v', { keyed: [{ key: 'k', value: '1' }, { key: 'l' }] });
    expect(w.owned('u')).toBe('.keyed\n.keyed[key="l"]\n.keyed[key="l"].key');
    expect(w.owned('v')).toBe('.keyed[key="k"]\n.keyed[key="k"].key\n.keyed[key="k"].value');
    w.update('w', { keyed: [{ key: 'k', value: '1' }, { key: 'k', value: '1' }, { key: 'l' }] });
    expect(w.owned('v')).toBe('');
    expect(w.owned('w')).toBe('.keyed[key="k"]');
  });
});

const key = fc.constantFrom('a', 'b', 'c');
const config = fc.record(
  {
    text: key,
    part: fc.record({ x: key, y: key }, { requiredKeys: [] }),
    whole: fc.record({ x: key }, { requiredKeys: [] }),
    map: fc.dictionary(key, key),
    list: fc.array(key, { maxLength: 2 }),
    set: fc.uniqueArray(key),
    keyed: fc.uniqueArray(
      fc.record(
        { key, value: key, inner: fc.record({ x: key }, { requiredKeys: [] }), tags: fc.uniqueArray(key) },
        { requiredKeys: ['key'] },
      ),
      { selector: (item) => item.key },
    ),
    any: fc.oneof(key, fc.dictionary(key, fc.dictionary(key, key))),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;
const version = fc.constantFrom('v1', 'v2');
const step = fc.record({ manager: fc.constantFrom('a', 'b', 'u'), config, version });

function run(steps: readonly { manager: string; config: JsonObject; version: string }[]): World {
  const w = world();
  for (const { manager, config: given, version: at } of steps) {
    if (manager === 'u') w.update(manager, given, at);
    else w.apply(manager, given, { force: true, version: at });
  }
  return w;
}

describe('after any sequence of writes', () => {
  test('applying again changes nothing', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4 }), config, (steps, given) => {
        const w = run(steps).apply('z', given, { force: true });
        const value = structuredClone(w.value);
        const owned = w.managers;
        w.apply('z', given);
        expect(w.value).toEqual(value);
        expect([...w.managers.keys()].sort()).toEqual([...owned.keys()].sort());
        for (const [manager, { set: fields }] of owned) expect(w.owned(manager)).toBe(fields.toString());
      }),
    );
  });

  test('applied fields exist and are owned', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4 }), config, version, (steps, given, at) => {
        const w = run(steps).apply('z', given, { force: true, version: at });
        const type = types.get(at)!;
        const wanted = toFieldSet(type, given);
        const have = toFieldSet(type, w.value).withNamedFields(type);
        expect(
          wanted
            .leaves()
            .difference(have.union(containers(w.value)))
            .toString(),
        ).toBe('');
        expect(w.owned('z')).toBe(wanted.toString());
      }),
    );
  });

  test('every field that an applier set is owned while it exists', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ manager: fc.constantFrom('a', 'b', 'c'), config, version: fc.constant('v1') }), {
          maxLength: 5,
        }),
        (steps) => {
          const w = run(steps);
          let owned = toFieldSet(types.get('v1')!, {});
          for (const { set: fields } of w.managers.values()) owned = owned.union(fields);
          const there = toFieldSet(types.get('v1')!, w.value);
          expect(there.leaves().difference(owned).difference(containers(w.value)).toString()).toBe('');
        },
      ),
    );
  });

  test('a forced apply never fails, and the same values never conflict', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), (steps) => {
        const w = run(steps);
        expect(w.conflicts('z', structuredClone(w.value))).toEqual([]);
      }),
    );
  });

  test('appliers of different fields commute', () => {
    fc.assert(
      fc.property(config, config, (a, b) => {
        const first = Object.fromEntries(Object.entries(a).filter(([name]) => !(name in b)));
        const ab = world().apply('a', first).apply('b', b);
        const ba = world().apply('b', b).apply('a', first);
        expect(ab.value).toEqual(ba.value);
        expect(ab.owned('a')).toBe(ba.owned('a'));
        expect(ab.owned('b')).toBe(ba.owned('b'));
      }),
    );
  });

  test('an update without changes keeps the same sets of the managers', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4 }), (steps) => {
        const w = run(steps.map((s) => ({ ...s, version: 'v1' })));
        const before = new Map([...w.managers].map(([name, owned]) => [name, owned.set]));
        w.update('z', structuredClone(w.value));
        expect(new Map([...w.managers].map(([name, owned]) => [name, owned.set]))).toEqual(before);
        for (const [name, fields] of before) expect(w.managers.get(name)?.set).toBe(fields);
      }),
    );
  });
});

describe('between two managers', () => {
  test('a field that an applier gives up is removed unless another one owns it', () => {
    fc.assert(
      fc.property(config, config, config, (a, b, rest) => {
        const type = types.get('v1')!;
        // The second applier has the values of the first one in the fields that both apply.
        const shared = { ...b, ...Object.fromEntries(Object.entries(a).filter(([name]) => name in b)) };
        const kept = Object.fromEntries(Object.entries(a).filter(([name]) => name in rest));
        const w = world().apply('a', a).apply('b', shared).apply('a', kept);
        const wanted = toFieldSet(type, kept).union(toFieldSet(type, shared));
        expect(toFieldSet(type, w.value).leaves().difference(wanted).toString()).toBe('');
        expect(w.owned('b')).toBe(toFieldSet(type, shared).toString());
        expect(w.owned('a')).toBe(toFieldSet(type, kept).toString());
      }),
    );
  });

  test('a forced apply takes only the fields that it changes from others', () => {
    fc.assert(
      fc.property(config, config, (a, b) => {
        const type = types.get('v1')!;
        const w = world().apply('a', a);
        const before = structuredClone(w.value);
        w.apply('b', b, { force: true });
        const { modified, added, removed } = compare(type, before, w.value);
        const left = toFieldSet(type, a).difference(modified).difference(added).difference(removed);
        expect(w.owned('a')).toBe(left.isEmpty ? '' : left.toString());
      }),
    );
  });

  test('an update owns the fields that it changes, and removed fields have no owner', () => {
    fc.assert(
      fc.property(config, config, (a, b) => {
        const type = types.get('v1')!;
        const w = world().apply('a', a);
        const before = structuredClone(w.value);
        w.update('u', b);
        const { modified, added, removed } = compare(type, before, b);
        const changed = modified.union(added);
        expect(w.owned('u')).toBe(changed.isEmpty ? '' : changed.toString());
        for (const { set: fields } of w.managers.values()) expect(fields.intersection(removed).toString()).toBe('');
      }),
    );
  });
});

describe('managers and fields without an owner', () => {
  test('an updater does not own a field that it removed', () => {
    fc.assert(
      fc.property(config, config, (a, b) => {
        const w = world().update('u', a).update('u', b);
        const type = types.get('v1')!;
        const { set: owned } = w.managers.get('u') ?? { set: toFieldSet(type, {}) };
        const { removed } = compare(type, a, b);
        expect(owned.intersection(removed).toString()).toBe('');
      }),
    );
  });

  test('an apply fails exactly if it would change a field of another manager', () => {
    fc.assert(
      fc.property(config, config, (a, b) => {
        const type = types.get('v1')!;
        const forced = world().apply('a', a);
        const before = structuredClone(forced.value);
        forced.apply('b', b, { force: true });
        const { modified, added } = compare(type, before, forced.value);
        const lost: string[] = [];
        toFieldSet(type, a)
          .intersection(modified.union(added))
          .forEach((path) => lost.push(`a ${path.join('')}`));
        expect(world().apply('a', a).conflicts('b', b)).toEqual(lost);
      }),
    );
  });

  test('fields without an owner stay when an applier gives up the fields it set beside them', () => {
    fc.assert(
      fc.property(config, config, (base, a) => {
        const w = world();
        w.value = structuredClone(base);
        w.apply('a', a, { force: true }).apply('a', {}, { force: true });
        // A map that loses all of its members is null.
        const value = (w.value as JsonObject | null) ?? {};
        const untouched = Object.entries(base).filter(([name]) => !(name in a));
        expect(value).toMatchObject(Object.fromEntries(untouched));
      }),
    );
  });
});

/** Returns the lists as whole fields, because field sets do not contain empty lists. */
function containers(value: JsonObject): FieldSet {
  const given = Object.fromEntries(
    Object.entries(value).filter(([, member]) => Array.isArray(member) || member === null),
  );
  return toFieldSet(
    customResourceType(struct({ set: { type: 'array', items: text }, keyed: { type: 'array', items: text } })),
    given,
  );
}
