import fc from 'fast-check';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { FakeCollection, FakeStaging } from '../../../test/fakes/controllers/adoption-cluster.js';
import { compareSides } from './comparison.js';
import { validatorOf } from './validity.js';
import { Copier } from './copier.js';
import { RateLimit } from '../rate-limit.js';

const RESOURCE = 'widgets.example.com';

function setUp(pause?: () => Promise<void>) {
  const clock = new FakeClock();
  const collection = new FakeCollection();
  const staging = new FakeStaging(pause);
  const rate = new RateLimit(clock, 1_000);
  const copier = new Copier({ collection, staging, resource: RESOURCE, clock, rate });
  const stop = new AbortController();
  const parts = { collection, staging, copier, clock, rate, resource: RESOURCE, whyInvalid: () => '' };
  return { ...parts, parts, stop };
}

/** Lets pending work run, and advances the clock by 100 ms a round. */
async function settle(clock: FakeClock, rounds = 200): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(100);
  }
}

const copied = ({ objects }: FakeStaging): string[] =>
  [...objects.values()].map(({ key, revision, bytes }) => `${key} ${revision} ${Buffer.from(bytes).toString()}`).sort();

const original = ({ objects }: FakeCollection): string[] =>
  [...objects.values()]
    .map((object) => {
      const { resourceVersion = '', name = '', uid = '' } = object.metadata;
      const metadata = { resourceVersion, name, uid };
      const { apiVersion, kind } = object;
      return `${name} ${resourceVersion} ${JSON.stringify({ apiVersion, kind, metadata, value: object['value'] })}`;
    })
    .sort();

describe('Copier', () => {
  test('the copy equals the collection in the cluster, whatever happens during the copy', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ write: name }) },
      { weight: 3, arbitrary: fc.record({ delete: name }) },
      { weight: 1, arbitrary: fc.constant({ end: true }) },
      { weight: 1, arbitrary: fc.constant({ compact: true }) },
      { weight: 1, arbitrary: fc.constant({ fail: true }) },
      { weight: 6, arbitrary: fc.record({ wait: fc.nat(6) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(4), async (steps, slowness) => {
        let turn = 0;
        const pause = async (): Promise<void> => {
          for (let i = ++turn % (slowness + 1); i > 0; i--) await new Promise((resolve) => setImmediate(resolve));
        };
        const { collection, staging, copier, clock, stop, parts } = setUp(pause);
        for (const key of ['a', 'b', 'c']) collection.write(key, 'first');
        const run = copier.run(stop.signal);
        for (const [i, one] of steps.entries()) {
          if ('write' in one) collection.write(one.write, String(i));
          else if ('delete' in one) collection.delete(one.delete);
          else if ('wait' in one) for (let j = 0; j < one.wait; j++) await settle(clock, 1);
          else {
            if ('compact' in one) collection.compacted = collection.revision;
            if ('fail' in one) collection.failures = 2;
            collection.endWatches();
          }
        }
        await settle(clock, 700);
        expect(copied(staging)).toEqual(original(collection));
        expect(copier.state).toMatchObject({ complete: true, copied: collection.objects.size, lagSeconds: 0 });
        collection.failures = 0;
        const comparing = compareSides(parts, stop.signal);
        await settle(clock, 20);
        expect(await comparing).toMatchObject({ differences: 0, objects: collection.objects.size });
        stop.abort();
        await settle(clock, 5);
        await run;
      }),
      { numRuns: 60 },
    );
  }, 120_000);

  test('a copy begun by another replica loses deleted objects, and nothing is written twice', async () => {
    const { collection, staging, copier, clock, stop } = setUp();
    for (const key of ['a', 'b', 'c']) collection.write(key, 'first');
    void copier.run(stop.signal);
    await settle(clock);
    stop.abort();
    collection.delete('b');
    const puts = jest.spyOn(staging, 'put');
    const next = setUp();
    const again = new Copier({ ...next.parts, collection, staging });
    void again.run(next.stop.signal);
    await settle(next.clock);
    expect([...staging.objects.keys()]).toEqual(['a', 'c']);
    expect(puts.mock.calls.flatMap(([, objects]) => objects)).toEqual([]);
    expect(again.state.bytes).toBeGreaterThan(100);
    next.stop.abort();
  });

  test('the state reports the lag and its cause', async () => {
    const { collection, copier, clock, stop } = setUp();
    collection.write('a', 'first');
    void copier.run(stop.signal);
    await settle(clock, 5);
    expect(copier.state).toMatchObject({ complete: true, lagSeconds: 0, trouble: '' });
    collection.failures = 1e6;
    collection.compacted = collection.revision + 1;
    collection.endWatches();
    await settle(clock, 200);
    expect(copier.state).toMatchObject({ complete: true, trouble: 'away' });
    expect(copier.state.lagSeconds).toBeGreaterThan(5);
    stop.abort();
  });
});

describe('compareSides', () => {
  test('finds objects that exist on one side only, and objects that differ', async () => {
    const { collection, staging, parts, copier, clock, stop } = setUp();
    for (const key of ['a', 'b', 'c', 'd']) collection.write(key, 'first');
    void copier.run(stop.signal);
    await settle(clock, 20);
    const before = compareSides(parts, stop.signal);
    await settle(clock, 20);
    const equal = await before;
    expect(equal).toMatchObject({ differences: 0, objects: 4, example: '' });
    const state = staging.objects.get('b');
    if (state !== undefined) {
      const bytes = Buffer.from(Buffer.from(state.bytes).toString().replace('first', 'worst'));
      staging.objects.set('b', { ...state, bytes });
    }
    collection.objects.delete('c');
    const after = compareSides(parts, stop.signal);
    await settle(clock, 400);
    expect(await after).toMatchObject({ differences: 2, example: 'b' });
    stop.abort();
  });

  test('the digest does not depend on the order of fields', async () => {
    const digests: string[] = [];
    for (const order of [
      ['a', 'b'],
      ['b', 'a'],
    ]) {
      const { collection, parts, copier, clock, stop } = setUp();
      for (const key of ['a', 'b']) collection.write(key, 'x');
      for (const object of collection.objects.values())
        object['spec'] = Object.fromEntries(order.map((name) => [name, 1]));
      void copier.run(stop.signal);
      await settle(clock, 20);
      const comparing = compareSides(parts, stop.signal);
      await settle(clock, 20);
      digests.push((await comparing).digest);
      stop.abort();
    }
    expect(digests[0]).toBe(digests[1]);
  });

  test('counts the objects that the schema would refuse, and reports why', async () => {
    const { collection, parts, copier, clock, stop } = setUp();
    for (const key of ['a', 'b', 'c']) collection.write(key, key === 'a' ? 'red' : 'pink');
    void copier.run(stop.signal);
    await settle(clock, 20);
    const colour = { type: 'string', enum: ['red', 'green'] };
    const schema = { openAPIV3Schema: { type: 'object', properties: { value: colour } } };
    const crd = {
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'things', kind: 'Thing' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    };
    const whyInvalid = await validatorOf(crd, 'v1', clock);
    const comparing = compareSides({ ...parts, whyInvalid }, stop.signal);
    await settle(clock, 20);
    expect(await comparing).toMatchObject({
      differences: 0,
      invalid: 2,
      invalidExample: 'b: value: Unsupported value: "pink": supported values: "red", "green"',
    });
    stop.abort();
  });
});
