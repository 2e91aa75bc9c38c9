import { ApiError } from '../../apimachinery/meta/errors.js';
import { deepCopy, type JsonObject, objectAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient, ResourceEventHandler } from '../../registry/rest/loopback-client.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { DefinitionRegistration } from './definition-registration.js';

const GROUP = 'example.com';

function definition(name: string, versions: JsonObject[], over: JsonObject = {}): KubeObject {
  return {
    metadata: { name, ...over },
    spec: { group: GROUP, versions },
    status: { conditions: [{ type: 'Established' }] },
  };
}

const V1 = { name: 'v1', served: true };
const V2 = { name: 'v2', served: true };

function setUp() {
  let listener: ResourceEventHandler | undefined;
  const written: KubeObject[] = [];
  const state: { refusal: ApiError | undefined } = { refusal: undefined };
  const failures: string[] = [];
  const client: Pick<LoopbackClient, 'watch' | 'updateStatus'> = {
    watch: (given) => {
      listener = given;
    },
    updateStatus: (object) => {
      if (state.refusal !== undefined) return Promise.reject(state.refusal);
      written.push(deepCopy(object));
      listener?.upsert(object);
      return Promise.resolve(object);
    },
  };
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const registration = new DefinitionRegistration(client as LoopbackClient, clock, (name) => void failures.push(name));
  registration.start(new AbortController().signal);
  if (listener === undefined) throw new Error('nothing is watched');
  return { registration, listener, written, state, clock, failures };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

const conditionOf = (object: KubeObject | undefined): JsonObject | undefined =>
  (objectAt(object ?? { metadata: {} }, 'status')?.['conditions'] as JsonObject[] | undefined)?.find(
    ({ type }) => type === 'Registered',
  );

describe('DefinitionRegistration', () => {
  test('the condition is set when all served versions are registered, and other conditions stay', async () => {
    const { registration, listener, written } = setUp();
    listener.upsert(definition('a', [V1, V2, { name: 'v0', served: false }]));
    registration.registered(GROUP, 'v1');
    await settle();
    expect(written).toEqual([]);
    registration.registered(GROUP, 'v2');
    await settle();
    expect(written).toHaveLength(1);
    expect(objectAt(written[0] ?? { metadata: {} }, 'status')?.['conditions']).toEqual([
      { type: 'Established' },
      {
        type: 'Registered',
        status: 'True',
        reason: 'APIServiceRegistered',
        message: 'the group version example.com/v1 is registered with the cluster',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ]);
  });

  test('one refused version makes the condition false until it is registered', async () => {
    const { registration, listener, written, clock } = setUp();
    listener.upsert(definition('a', [V1, V2]));
    registration.registered(GROUP, 'v1');
    expect(registration.refused(GROUP, 'v2', { reason: 'Conflict', message: 'it is taken' })).toBe(true);
    expect(registration.refused(GROUP, 'v2', { reason: 'Conflict', message: 'it is taken' })).toBe(false);
    await settle();
    const message = 'the group version example.com/v2 cannot be registered: it is taken';
    expect(conditionOf(written.at(-1))).toMatchObject({ status: 'False', reason: 'Conflict', message });
    clock.advance(60_000);
    registration.registered(GROUP, 'v2');
    await settle();
    expect(conditionOf(written.at(-1))).toMatchObject({ status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z' });
  });

  test('a failed registration is reported with the message of the cluster', async () => {
    const { registration, listener, written } = setUp();
    listener.upsert(definition('a', [V1]));
    registration.failed(GROUP, 'v1', 'forbidden');
    await settle();
    expect(conditionOf(written[0])).toMatchObject({
      reason: 'RegistrationFailed',
      message: 'the group version example.com/v1 could not be registered: forbidden',
    });
  });

  test('a definition that is created later gets the known state of its group', async () => {
    const { registration, listener, written } = setUp();
    listener.upsert(definition('a', [V1]));
    registration.registered(GROUP, 'v1');
    await settle();
    listener.upsert(definition('b', [V1]));
    await settle();
    expect(written.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  });

  test('the state of a group is dropped with its last definition', async () => {
    const { registration, listener, written } = setUp();
    const one = definition('a', [V1]);
    listener.upsert(one);
    registration.registered(GROUP, 'v1');
    await settle();
    listener.delete?.(one);
    listener.upsert(definition('b', [V1]));
    await settle();
    expect(written).toHaveLength(1);
  });

  test('a definition that is being deleted gets no condition', async () => {
    const { registration, listener, written } = setUp();
    listener.upsert(definition('a', [V1], { deletionTimestamp: '2026-01-01T00:00:00Z' }));
    registration.registered(GROUP, 'v1');
    await settle();
    expect(written).toEqual([]);
  });

  test.each([
    [409, 'Conflict', []],
    [500, 'InternalError', ['a']],
  ] as const)('a write that fails with %d is retried', async (code, reason, expected) => {
    const { registration, listener, written, state, clock, failures } = setUp();
    listener.upsert(definition('a', [V1]));
    state.refusal = new ApiError(code, reason, 'no');
    registration.registered(GROUP, 'v1');
    await settle();
    state.refusal = undefined;
    clock.advance(60_000);
    await settle();
    expect(failures).toEqual(expected);
    expect(conditionOf(written[0])).toMatchObject({ status: 'True' });
  });

  test('an outage of the store is noted when it has ended', async () => {
    const { registration, listener, written, clock } = setUp();
    listener.upsert(definition('a', [V1]));
    registration.registered(GROUP, 'v1');
    await settle();
    clock.advance(60_000);
    registration.storeAnswers(30_000);
    registration.storeAnswers(30_000);
    await settle();
    expect(written).toHaveLength(2);
    expect(objectAt(written[1] ?? { metadata: {} }, 'status')?.['conditions']).toMatchObject([
      { type: 'Established' },
      { type: 'Registered', status: 'True' },
      { type: 'StoreAvailable', status: 'True', message: 'the store answers again, after 30 s' },
    ]);
  });
});
