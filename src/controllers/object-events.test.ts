import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { JsonObject } from '../apimachinery/json/json.js';
import type { ResourceEventHandler } from '../registry/rest/loopback-client.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { definitionEvents } from './definitions/definition-events.js';
import { ObjectEvents } from './object-events.js';

const TAKEN = {
  type: 'Registered',
  status: 'False',
  reason: 'GroupVersionTaken',
  message: 'taken',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

const definition = (conditions: JsonObject[], name = 'widgets.example.com'): KubeObject => ({
  apiVersion: 'kubeannex.io/v1',
  kind: 'ResourceDefinition',
  metadata: { name, uid: 'u', resourceVersion: '7' },
  status: { conditions },
});

function setUp() {
  let listener: ResourceEventHandler | undefined;
  const events: KubeObject[] = [];
  const errors: string[] = [];
  const state = { failing: false };
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const controller = new ObjectEvents({
    name: 'definition_events',
    eventsFor: definitionEvents,
    client: {
      watch: (given) => {
        listener = given;
      },
    },
    clock,
    record: (event) => {
      if (state.failing) return Promise.reject(new Error('the cluster is away'));
      events.push(event);
      return Promise.resolve();
    },
    onError: (name) => void errors.push(name),
  });
  controller.start(new AbortController().signal);
  if (listener === undefined) throw new Error('nothing is watched');
  return { listener, events, errors, state, clock };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

describe('ObjectEvents', () => {
  test('an adverse condition is recorded as one event about the definition', async () => {
    const { listener, events } = setUp();
    listener.upsert(definition([TAKEN, { type: 'Established', status: 'False', reason: 'Installing' }]));
    await settle();
    listener.upsert(definition([TAKEN]));
    await settle();
    expect(events).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: {
          name: expect.stringMatching(/^widgets\.example\.com\.[0-9a-f]{16}$/) as string,
          namespace: 'default',
        },
        involvedObject: {
          apiVersion: 'kubeannex.io/v1',
          kind: 'ResourceDefinition',
          name: 'widgets.example.com',
          uid: 'u',
          resourceVersion: '7',
        },
        type: 'Warning',
        reason: 'GroupVersionTaken',
        message: 'taken',
        source: { component: 'annex' },
        reportingComponent: 'annex',
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        count: 1,
      },
    ]);
  });

  test.each<[string, JsonObject, number]>([
    ['names that are taken', { type: 'NamesAccepted', status: 'False', reason: 'PluralConflict' }, 1],
    ['names that are accepted', { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts' }, 0],
    ['a schema that is not structural', { type: 'NonStructuralSchema', status: 'True', reason: 'Violations' }, 1],
    ['a schema that is', { type: 'NonStructuralSchema', status: 'False', reason: '' }, 0],
    ['a type that is registered', { ...TAKEN, status: 'True' }, 0],
  ])('%s', async (_, condition, expected) => {
    const { listener, events } = setUp();
    listener.upsert(definition([condition]));
    await settle();
    expect(events).toHaveLength(expected);
  });

  test('replicas name the event of one state alike; a later transition has another name', async () => {
    const [one, other] = [setUp(), setUp()];
    one.listener.upsert(definition([TAKEN]));
    other.listener.upsert(definition([TAKEN]));
    await settle();
    one.listener.upsert(definition([]));
    await settle();
    one.listener.upsert(definition([{ ...TAKEN, lastTransitionTime: '2026-01-01T01:00:00Z' }]));
    await settle();
    const names = one.events.map(({ metadata }) => metadata.name);
    expect(names).toHaveLength(2);
    expect(new Set(names).size).toBe(2);
    expect(other.events[0]?.metadata.name).toBe(names[0]);
  });

  test('an object name that is truncated for the event stays a valid name', async () => {
    const { listener, events } = setUp();
    listener.upsert(definition([TAKEN], `${'a'.repeat(229)}.${'b'.repeat(20)}`));
    await settle();
    expect(events[0]?.metadata.name).toMatch(/^a{229}\.[0-9a-f]{16}$/);
  });

  test('an event that cannot be created is retried', async () => {
    const { listener, events, errors, state, clock } = setUp();
    state.failing = true;
    listener.upsert(definition([TAKEN]));
    await settle();
    expect(errors).toEqual(['widgets.example.com']);
    state.failing = false;
    clock.advance(60_000);
    await settle();
    expect(events).toHaveLength(1);
  });

  test('a definition that is being deleted has no events', async () => {
    const { listener, events } = setUp();
    const going = definition([TAKEN]);
    listener.upsert({ ...going, metadata: { ...going.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    await settle();
    expect(events).toEqual([]);
  });
});
