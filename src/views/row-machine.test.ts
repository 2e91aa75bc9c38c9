import * as fc from 'fast-check';
import type { JsonValue } from '../apimachinery/json/json.js';
import { newAccumulator } from '../asking/aggregates/accumulators.js';
import { type Column, Group } from '../asking/aggregates/plan.js';
import { type Scalar, scalarOf } from '../asking/aggregates/scalar.js';
import { type Entry, RowMachine, type RowEvent } from './row-machine.js';
import { rowMaker, type Row } from './row.js';

const COLUMNS: readonly Column[] = [
  { name: 'namespace', type: 'string', nullable: false },
  { name: 'color', type: 'string', nullable: true },
  { name: 'boxes', type: 'int', nullable: false },
  { name: 'most', type: 'int', nullable: true },
];

/** An object of the source, as far as the view looks at it. */
interface Box {
  readonly namespace: string;
  readonly color: string | null;
  readonly size: number | undefined;
  readonly created: string;
}

const make = rowMaker({ kind: 'Sum', uid: 'u', columns: COLUMNS, groups: 2, namespaceAt: 0 });
const wholeMaker = rowMaker({ kind: 'Sum', uid: 'u', columns: COLUMNS.slice(2), groups: 0, namespaceAt: -1 });
const fieldMaker = rowMaker({ kind: 'Sum', uid: 'u', columns: COLUMNS.slice(1, 2), groups: 1, namespaceAt: -1 });

const newGroup = (values: readonly JsonValue[]): Group =>
  new Group(values, [
    newAccumulator({ aggregate: 'count', empty: 0, count: 0, removes: true }),
    newAccumulator({ aggregate: 'max', empty: null, count: 0, removes: true }),
  ]);

type Mode = 'groups' | 'whole' | 'fields';

/** A box in color 'x' is not selected; one without a size fails. */
function entryOf(mode: Mode, key: string, box: Box): Entry {
  const { namespace, color, size, created } = box;
  const error = size === undefined ? 'no such key: size' : undefined;
  const found = scalarOf(size) as Scalar | undefined;
  const contributions = [{ scalar: scalarOf(1) as Scalar }, found && { scalar: found }];
  if (color === 'x') return { group: undefined, contributions: [], origin: { created: undefined }, error: undefined };
  if (mode === 'fields') {
    const object = { namespace, name: key.slice(key.indexOf('/') + 1), labels: undefined };
    return { group: { id: key, values: [color] }, contributions: [], origin: { created, object }, error };
  }
  const values = mode === 'whole' ? [] : [namespace, color];
  return { group: { id: JSON.stringify(values), values }, contributions, origin: { created }, error };
}

/** Returns the rows of all objects, computed from scratch. */
function naive(mode: Mode, boxes: ReadonlyMap<string, Box>): Record<string, unknown> {
  const groups = new Map<string, { entry: Entry; box: Box }[]>();
  if (mode === 'whole') groups.set('[]', []);
  for (const [key, box] of boxes) {
    const entry = entryOf(mode, key, box);
    if (entry.group === undefined) continue;
    const { id } = entry.group;
    groups.set(id, [...(groups.get(id) ?? []), { entry, box }]);
  }
  const rows: Record<string, unknown> = {};
  for (const members of groups.values()) {
    const sizes = members.flatMap(({ box }) => box.size ?? []);
    const created = members.map(({ box }) => box.created).sort()[0];
    const aggregates = [members.length, sizes.length === 0 ? null : Math.max(...sizes)];
    const [first] = members;
    const row =
      mode === 'whole'
        ? wholeMaker(aggregates, { created })
        : mode === 'groups'
          ? make([...(first?.entry.group?.values ?? []), ...aggregates], { created })
          : fieldMaker(first?.entry.group?.values ?? [], first?.entry.origin ?? { created });
    rows[row.key] = row.text;
  }
  return rows;
}

const shown = (rows: ReadonlyMap<string, Row>): Record<string, unknown> =>
  Object.fromEntries([...rows].map(([key, { text }]) => [key, text]));

const boxes = fc.record({
  namespace: fc.constantFrom('n1', 'n2'),
  color: fc.constantFrom('red', 'a-b', 'A', '', 'x', null),
  size: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  created: fc.constantFrom('2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z'),
});
const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.option(boxes, { nil: undefined })), {
  maxLength: 60,
});

/** Applies an event to what a client has seen. */
function follow(seen: Record<string, unknown>, { type, row, before }: RowEvent): void {
  expect(row.key in seen).toBe(type !== 'ADDED');
  if (before !== undefined) expect(seen[before.key]).toBe(before.text);
  if (type === 'DELETED') Reflect.deleteProperty(seen, row.key);
  else seen[row.key] = row.text;
}

test.each<Mode>(['groups', 'whole', 'fields'])('the rows are those of the objects at every revision: %s', (mode) => {
  fc.assert(
    fc.property(steps, (schedule) => {
      const options = {
        newGroup: mode === 'fields' ? undefined : newGroup,
        isWhole: mode === 'whole',
        make: mode === 'whole' ? wholeMaker : mode === 'fields' ? fieldMaker : make,
        maxRows: 1000,
      };
      const machine = new RowMachine(options);
      const objects = new Map<string, Box>();
      const seen = shown(machine.rows);
      schedule.forEach(([place, box], i) => {
        // An object stays in its namespace.
        const key = `n${String((place % 2) + 1)}/o${String(place)}`;
        const now = box && { ...box, namespace: key.slice(0, 2) };
        if (now === undefined) objects.delete(key);
        else objects.set(key, now);
        const events = machine.apply(i + 1, key, now && entryOf(mode, key, now));
        expect(events.length).toBeLessThanOrEqual(2);
        for (const event of events) follow(seen, event);
        expect(shown(machine.rows)).toEqual(naive(mode, objects));
        expect(seen).toEqual(naive(mode, objects));
        const failing = [...objects].filter(([name, of]) => entryOf(mode, name, of).error !== undefined);
        expect([...machine.failures.keys()].sort()).toEqual(failing.map(([name]) => name).sort());
      });
      expect(machine.beyond).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test('rows beyond the bound are counted, and there is room again when rows go', () => {
  fc.assert(
    fc.property(steps, fc.constantFrom<Mode>('groups', 'fields'), (schedule, mode) => {
      const make2 = mode === 'fields' ? fieldMaker : make;
      const machine = new RowMachine({
        newGroup: mode === 'fields' ? undefined : newGroup,
        isWhole: false,
        make: make2,
        maxRows: 2,
      });
      const objects = new Map<string, Box>();
      const seen = {};
      schedule.forEach(([place, box], i) => {
        const key = `n${String((place % 2) + 1)}/o${String(place)}`;
        const now = box && { ...box, namespace: key.slice(0, 2) };
        if (now === undefined) objects.delete(key);
        else objects.set(key, now);
        for (const event of machine.apply(i + 1, key, now && entryOf(mode, key, now))) follow(seen, event);
        expect(machine.rows.size).toBeLessThanOrEqual(2);
        expect(machine.beyond).toBeGreaterThanOrEqual(0);
        const all = Object.keys(naive(mode, objects)).length;
        expect(machine.beyond > 0).toBe(all > machine.rows.size);
      });
    }),
  );
});

test('names tell groups apart', () => {
  const of = (values: readonly JsonValue[], columns: readonly Column[]): string =>
    rowMaker({ kind: 'K', uid: 'u', columns, groups: columns.length, namespaceAt: -1 })(values, { created: undefined })
      .key;
  const text = { type: 'string', nullable: false };
  const one = [{ ...text, name: 'a' }];
  const two = [...one, { ...text, name: 'b' }];
  expect(of(['red'], one)).toBe('red');
  expect(of(['a-b.c'], one)).toBe('a-b.c');
  expect(of(['a', 'b'], two)).toBe('a-b');
  expect(of([], [])).toBe('summary');
  expect(of(['a-b', 'c'], two)).toMatch(/^a-b-c-[0-9a-f]{12}$/);
  expect(of(['a', 'b-c'], two)).not.toBe(of(['a-b', 'c'], two));
  expect(of(['Red'], one)).toMatch(/^red-[0-9a-f]{12}$/);
  expect(of([''], one)).toMatch(/^row-[0-9a-f]{12}$/);
  expect(of([of(['Red'], one)], one)).not.toBe(of(['Red'], one));
  expect(of(['x'.repeat(400)], one).length).toBe(253);
  expect(of([7], [{ name: 'n', type: 'int', nullable: false }])).toBe('7');
  expect(of([-7], [{ name: 'n', type: 'int', nullable: false }])).not.toBe('7');
  const values = fc.array(fc.oneof(fc.string({ maxLength: 4 }), fc.constant(null)), { minLength: 2, maxLength: 2 });
  fc.assert(
    fc.property(values, values, (a, b) => {
      expect(of(a, two) === of(b, two)).toBe(JSON.stringify(a) === JSON.stringify(b));
      expect(of(a, two)).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    }),
  );
});
