import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { RateLimit } from '../rate-limit.js';
import type { ConditionUpdate } from './journal.js';
import { isFreed, Source } from './source.js';

const GROUP = 'example.com';
const CRD = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${GROUP}`;
const crd = (): KubeObject => ({
  metadata: { name: `widgets.${GROUP}`, uid: 'u', resourceVersion: '7' },
  spec: { names: { plural: 'widgets' } },
});
const object = (name: string, finalizers: string[]): JsonObject => ({
  metadata: { namespace: 'a', name, resourceVersion: '3', finalizers },
});

/** A cluster with a copy of three objects, two of them with finalizers; with `refused`, it refuses to remove these with that message. */
function setUp({ phase = 'Served', isWanted = true, refused = '' } = {}) {
  const clock = new FakeClock();
  const steps: string[] = [];
  const notes: ConditionUpdate[] = [];
  let crds = [crd()];
  let objects = [object('one', ['x/y']), object('two', []), object('three', ['x/y'])];
  const source = new Source({
    clock,
    group: GROUP,
    rate: new RateLimit(clock, 1_000_000),
    fence: { put: (through) => Promise.resolve(void steps.push(`fence ${through?.user ?? ''}`)).then(() => '') },
    clusterDefinitions: {
      list: () => Promise.resolve(crds),
      openBackDoor: () => Promise.resolve(void steps.push('open')),
      closeBackDoor: () => Promise.resolve(void steps.push('close')),
    },
    journal: {
      ...{ phase, isWanted },
      resources: [{ copied: 3, bytes: 2048 }],
      read: () => Promise.resolve(),
      note: (findings) => Promise.resolve(void notes.push(...findings)),
    },
    client: {
      metadata: () => Promise.resolve({ items: objects }),
      call: (_, path, body) => {
        steps.push(`${path.split('/').at(-1) ?? ''} ${JSON.stringify(body)}`);
        if (refused !== '') return Promise.resolve({ status: 422, body: { message: refused } });
        objects = objects.map((one) => (path.endsWith(`/${name(one)}`) ? object(name(one), []) : one));
        return Promise.resolve({ status: 200, body: {} });
      },
      must: (method, path, body) => {
        if (method === 'DELETE') {
          steps.push(`delete ${path === CRD ? 'crd' : path} ${JSON.stringify(body?.['preconditions'])}`);
          crds = [];
          return Promise.resolve(undefined);
        }
        if (method === 'GET') return Promise.resolve(crds[0]);
        return Promise.resolve({ metadata: {}, status: { userInfo: { username: 'annex' } } });
      },
    },
  });
  return { clock, steps, notes, source };
}

const name = (one: JsonObject): string => stringAt(objectAt(one, 'metadata'), 'name') ?? '';

async function ended(work: Promise<void>, clock: FakeClock): Promise<string> {
  let result: string | undefined;
  work.then(
    () => (result = ''),
    (error: unknown) => (result = String(error)),
  );
  for (let i = 0; i < 400 && result === undefined; i++) {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    clock.advance(500);
  }
  return result ?? 'it does not end';
}

describe('Source', () => {
  test('removes finalizers through the back door, then the definition, both with preconditions', async () => {
    const { clock, steps, notes, source } = setUp();
    expect(await ended(source.free(new AbortController().signal), clock)).toBe('');
    const free = '{"metadata":{"finalizers":null,"resourceVersion":"3"}}';
    expect(steps).toEqual([
      ...['close', 'fence annex', 'open'],
      ...[`one ${free}`, `three ${free}`],
      ...['close', 'fence '],
      'delete crd {"uid":"u","resourceVersion":"7"}',
    ]);
    expect(notes.map(([, holds, reason]) => [holds, reason])).toEqual([
      [true, 'Freeing'],
      [false, 'Freed'],
    ]);
    expect(notes.at(-1)?.[3]).toBe('the cluster keeps no copy: about 2.0 KiB of 3 objects were freed in etcd');
  });

  test('nothing is deleted if finalizers cannot be removed, and the condition reports why', async () => {
    const { clock, steps, notes, source } = setUp({ refused: 'denied by a webhook' });
    expect(await ended(source.free(new AbortController().signal), clock)).toContain('denied by a webhook');
    expect(steps.filter((step) => step.startsWith('delete'))).toEqual([]);
    expect(steps.slice(-2)).toEqual(['close', 'fence ']);
    expect(notes.at(-1)).toEqual(['SourceRetained', true, 'Freeing', expect.stringContaining('denied by a webhook')]);
  });

  test.each([
    ['goes back', { phase: 'Returning' }],
    ['is being moved back', { isWanted: false }],
  ])('nothing is changed in a group that %s', async (_, state) => {
    const { clock, steps, source } = setUp(state);
    expect(await ended(source.free(new AbortController().signal), clock)).toContain(
      'does not serve the group permanently',
    );
    expect(steps).toEqual([]);
  });

  test('reports the size of the copy while it exists', async () => {
    const { notes, source } = setUp();
    await source.reportRetained();
    expect(notes).toEqual([
      [
        'SourceRetained',
        true,
        'Retained',
        expect.stringMatching(/keeps 3 objects .* about 2\.0 KiB in etcd\. .*safe to delete/),
      ],
    ]);
  });

  test.each([
    [true, [crd()], false],
    [false, [crd()], true],
    [false, [], false],
    [true, [{ ...crd(), metadata: { ...crd().metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }], true],
  ])('isFreed with retain %p, case %#', (retain, crds, expected) => {
    expect(isFreed({ metadata: {}, spec: { source: { retain } } }, crds)).toBe(expected);
  });
});
