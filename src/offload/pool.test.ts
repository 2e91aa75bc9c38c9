import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { ApiError, newForbidden } from '../apimachinery/meta/errors.js';
import type { AdmissionPlugin } from '../admission/interfaces.js';
import { createHandler } from '../endpoints/handlers/create.js';
import { updateHandler } from '../endpoints/handlers/update.js';
import type { AuditRecorder } from '../request/audit.js';
import { StorageError } from '../storage/errors.js';
import type { Stopwatch } from '../util/metrics/stopwatch.js';
import { closeAll, create, failure, LONG, scopeOf, setup, thing } from '../../test/fakes/offload/world.js';

afterEach(closeAll);

test('a large write has the same defaults, managers, warnings, and attributes as a small one', async () => {
  const world = setup();
  const large = await create(world, 'large', { text: LONG, unknown: 1 });
  const small = await create(world, 'small', { text: 'x', unknown: 1 });
  expect(world.started).toHaveLength(1);
  expect([large.status, small.status]).toEqual([201, 201]);
  expect(large.body['spec']).toEqual({ text: LONG, size: 3 });
  expect(small.body['spec']).toEqual({ text: 'x', size: 3 });
  const fields = (body: JsonObject): unknown =>
    (body['metadata'] as { managedFields: { fieldsV1: unknown; manager: string }[] }).managedFields.map(
      ({ manager, fieldsV1 }) => ({ manager, fieldsV1 }),
    );
  expect(fields(large.body)).toEqual(fields(small.body));
  expect(large.warnings).toEqual(small.warnings);
  expect(large.warnings).toEqual(['unknown field "spec.unknown"']);
  expect(large.response.getHeader('content-type')).toBe('application/json');
  const [written] = world.backend.requests;
  expect(written?.value?.attributes).toEqual({
    labels: undefined,
    fields: { 'metadata.name': 'large', 'metadata.namespace': 'ns', 'spec.size': '3' },
  });
  // The fields are available on demand, without the revision.
  expect(written?.value?.object['spec']).toEqual({ text: LONG, size: 3 });
  expect(written?.value?.object['metadata']).not.toHaveProperty('resourceVersion');
});

test('an audited request records the request object, the response object, and the latencies', async () => {
  const world = setup();
  const { scope } = scopeOf(world, 'create', 'large', JSON.stringify(thing('large', { text: LONG })));
  const layers: string[] = [];
  const noted: JsonValue[] = [];
  const audit: AuditRecorder = {
    records: () => true,
    requestObject: (make) => noted.push(make()),
    responseObject: (make) => noted.push(make()),
    responseStatus: () => undefined,
  };
  const stopwatch: Stopwatch = {
    monotonic: () => performance.now(),
    record: (layer, millis) => {
      expect(millis).toBeGreaterThanOrEqual(0);
      layers.push(layer);
    },
  };
  await createHandler({ ...scope, context: { ...scope.context, audit, stopwatch } });
  expect(world.started).toHaveLength(1);
  expect(noted).toMatchObject([{ metadata: { name: 'large' } }, { metadata: { name: 'large' } }]);
  expect(layers).toEqual(['request-read', 'etcd', 'etcd', 'response-write', 'serialize-response-object']);
});

test('errors have the messages of the handlers', async () => {
  const world = setup();
  const tooLong = await failure(create(world, 'large', { text: LONG.repeat(2) }));
  expect(tooLong).toBeInstanceOf(ApiError);
  expect((tooLong as ApiError).details?.causes?.[0]).toMatchObject({
    field: 'spec.text',
    message: 'Too long: may not be more than 100000 bytes',
  });
  const tooMany = await failure(create(world, 'large', { text: LONG, size: 11 }));
  expect((tooMany as ApiError).status).toMatchObject({
    code: 422,
    reason: 'Invalid',
    details: { causes: [{ field: 'spec', message: 'Invalid value: too many' }] },
  });
});

test('integers beyond 2^53 are preserved', async () => {
  const world = setup();
  const body = JSON.stringify(thing('big', { text: LONG })).replace('"spec":{', '"spec":{"big":9007199254740993,');
  const { scope, response } = scopeOf(world, 'create', 'big', body);
  await createHandler(scope);
  expect(response.body).toContain('"big":9007199254740993');
});

test('an update that conflicts starts again from the current object', async () => {
  const world = setup();
  await create(world, 'a', { text: LONG });
  let raced = false;
  world.backend.before = () => {
    const current = world.backend.objects.get('ns/a');
    if (raced || current === undefined) return;
    raced = true;
    const text = Buffer.from(current.bytes).toString().replace('"size":3', '"size":4');
    world.backend.objects.set('ns/a', { ...current, revision: 77, bytes: Buffer.from(text) });
  };
  const { scope, response } = scopeOf(
    world,
    'update',
    'a',
    JSON.stringify(thing('a', { text: `${LONG}y` }, { resourceVersion: '1' })),
  );
  const error = await failure(updateHandler(scope));
  expect(raced).toBe(true);
  expect((error as ApiError).status).toMatchObject({ code: 409, reason: 'Conflict' });
  expect(response.body).toBe('');
  expect(world.backend.requests.map(({ expected }) => expected)).toEqual([0, 1]);
});

test('admission runs in the main thread: plugins change and refuse objects', async () => {
  const plugins: AdmissionPlugin[] = [
    {
      name: 'mutates',
      handles: () => true,
      admit: ({ object }) => {
        if (object !== undefined) object.metadata.labels = { seen: 'yes' };
      },
    },
    {
      name: 'refuses',
      handles: () => true,
      validate: ({ object, resource, name }) => {
        if (object?.metadata.labels?.['seen'] !== 'yes') throw new Error('not changed');
        if (name === 'bad') throw newForbidden(resource, name, 'no');
      },
    },
  ];
  const world = setup({ plugins });
  const { body } = await create(world, 'good', { text: LONG });
  expect(body['metadata']).toMatchObject({ labels: { seen: 'yes' } });
  const error = await failure(create(world, 'bad', { text: LONG }));
  expect((error as ApiError).code).toBe(403);
});

test('objects that no plugin reads are not sent', async () => {
  const seen: unknown[] = [];
  const plugin: AdmissionPlugin = {
    name: 'p',
    handles: () => true,
    readsObjects: () => false,
    admit: ({ object, name }) => {
      seen.push([name, object]);
    },
  };
  await create(setup({ plugins: [plugin] }), 'a', { text: LONG });
  expect(seen).toEqual([['a', undefined]]);
});

test('an object prepared under an earlier definition is not written', async () => {
  const world = setup();
  world.retired.abort();
  const error = await failure(create(world, 'a', { text: LONG }));
  expect((error as ApiError).code).toBe(503);
  expect(world.backend.objects.size).toBe(0);
});

test('errors of the store are returned as such', async () => {
  const world = setup();
  world.backend.before = () => {
    throw new StorageError('object-too-large', 'the object is 9 bytes');
  };
  const error = await failure(create(world, 'a', { text: LONG }));
  expect((error as ApiError).status).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
});

test('a definition is sent to a worker once, and idle workers end', async () => {
  const world = setup();
  await create(world, 'a', { text: LONG });
  await create(world, 'b', { text: LONG });
  const sent = world.started[0]?.posted.flatMap((message) =>
    message.type === 'task' ? [message.definition?.serialized !== undefined] : [],
  );
  expect(sent).toEqual([true, false]);
  world.clock.advance(59_000);
  expect(world.started[0]?.terminated).toBe(false);
  world.clock.advance(1_000);
  expect(world.started[0]?.terminated).toBe(true);
  await create(world, 'c', { text: LONG });
  expect(world.started).toHaveLength(2);
});

test('an aborted request ends, and its worker is terminated if it does not stop', async () => {
  const world = setup({ stuck: true });
  const abort = new AbortController();
  const pending = failure(create(world, 'a', { text: LONG }, abort.signal));
  const waiting = failure(create(world, 'b', { text: LONG }));
  await new Promise((resolve) => setImmediate(resolve));
  const reason = new Error('gone');
  abort.abort(reason);
  expect(await pending).toBe(reason);
  expect(world.started[0]?.posted.map(({ type }) => type)).toEqual(['task', 'abort']);
  expect(world.started).toHaveLength(1);
  world.clock.advance(10_000);
  expect(world.started[0]?.terminated).toBe(true);
  // The waiting request gets a new worker.
  expect(world.started).toHaveLength(2);
  world.pool.close();
  expect((await waiting) as ApiError).toMatchObject({ code: 500 });
});

test('the queue is bounded', async () => {
  const world = setup({ stuck: true, maxQueuedBytes: 100_000 });
  const running = failure(create(world, 'a', { text: LONG }));
  const queued = failure(create(world, 'b', { text: LONG }));
  await new Promise((resolve) => setImmediate(resolve));
  const refused = await failure(create(world, 'c', { text: LONG }));
  expect((refused as ApiError).status).toMatchObject({ code: 429, details: { retryAfterSeconds: 1 } });
  expect(world.metrics.refused).toHaveBeenCalledTimes(1);
  expect(world.metrics.setState).toHaveBeenLastCalledWith(1, 1);
  world.pool.close();
  await Promise.all([running, queued]);
});

test('writes of moderate size do not wait for a worker to load', async () => {
  const world = setup({ moderateBytes: 100_000 });
  const tasks = (): number => world.started[0]?.posted.filter(({ type }) => type === 'task').length ?? -1;
  expect((await create(world, 'a', { text: LONG })).status).toBe(201);
  expect((await create(world, 'b', { text: LONG })).status).toBe(201);
  expect([world.started.length, tasks()]).toEqual([1, 0]);
  // A larger write does.
  await failure(create(world, 'c', { text: LONG.repeat(2) }));
  expect([world.started.length, tasks()]).toEqual([1, 1]);
  world.started[0]?.ready();
  expect((await create(world, 'd', { text: LONG })).status).toBe(201);
  expect([world.started.length, tasks()]).toEqual([1, 2]);
});

test('a worker that is loaded but never used ends', async () => {
  const world = setup({ moderateBytes: 100_000 });
  await create(world, 'a', { text: LONG });
  world.started[0]?.ready();
  world.clock.advance(60_000);
  expect(world.started[0]?.terminated).toBe(true);
});

test('no task is sent to a second worker until it is loaded', async () => {
  const world = setup({ size: 2, stuck: true });
  const tasks = (worker: number): number =>
    world.started[worker]?.posted.filter(({ type }) => type === 'task').length ?? -1;
  const abort = new AbortController();
  const pending = [failure(create(world, 'a', { text: LONG }, abort.signal))];
  await new Promise((resolve) => setImmediate(resolve));
  world.started[0]?.ready();
  pending.push(failure(create(world, 'b', { text: LONG })), failure(create(world, 'c', { text: LONG })));
  await new Promise((resolve) => setImmediate(resolve));
  expect([world.started.length, tasks(0), tasks(1)]).toEqual([2, 1, 0]);
  // It cannot be loaded, and the next attempt follows only after ten seconds.
  world.started[1]?.fail();
  expect(world.started).toHaveLength(2);
  world.clock.advance(10_000);
  pending.push(failure(create(world, 'd', { text: LONG })));
  await new Promise((resolve) => setImmediate(resolve));
  expect([world.started.length, tasks(2)]).toEqual([3, 0]);
  world.started[2]?.ready();
  expect(tasks(2)).toBe(1);
  world.pool.close();
  await Promise.all(pending);
});

test('a write that waits for the store does not block other writes', async () => {
  const world = setup();
  let answers: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (answers = resolve));
  let asked: () => void = () => undefined;
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  world.backend.before = (): Promise<void> => {
    asked();
    world.backend.before = () => undefined;
    return held;
  };
  const first = create(world, 'a', { text: LONG });
  await isAsked;
  const second = create(world, 'b', { text: LONG });
  expect(world.started).toHaveLength(1);
  world.clock.advance(250);
  expect((await second).status).toBe(201);
  expect(world.started).toHaveLength(2);
  answers();
  expect((await first).status).toBe(201);
});

test('a request that exhausts the memory of a worker is refused, and the next one gets a new worker', async () => {
  const world = setup({ stuck: true });
  const pending = failure(create(world, 'a', { text: LONG }));
  const waiting = failure(create(world, 'b', { text: LONG }));
  await new Promise((resolve) => setImmediate(resolve));
  world.started[0]?.fail(Object.assign(new Error('JS heap out of memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }));
  expect(((await pending) as ApiError).status).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
  expect(world.started).toHaveLength(2);
  world.pool.close();
  expect(((await waiting) as ApiError).code).toBe(500);
});
