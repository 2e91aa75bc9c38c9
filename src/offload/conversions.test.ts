import type { JsonObject } from '../apimachinery/json/json.js';
import { DetachedObject } from '../storage/detached-object.js';
import { closeAll, create, failure, LONG, setup, type World } from '../../test/fakes/offload/world.js';

afterEach(closeAll);

interface Review {
  readonly apiVersion: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: JsonObject[] };
}

/** Returns a webhook that records each object it converts. */
function webhook(asked: JsonObject[], before: () => Promise<void> = () => Promise.resolve()) {
  return {
    async send(body: string): Promise<string> {
      await before();
      const { apiVersion, request } = JSON.parse(body) as Review;
      asked.push(...request.objects);
      const convertedObjects = request.objects.map((object) => ({
        ...object,
        metadata: { ...(object['metadata'] as JsonObject), labels: { converted: 'yes' } },
        apiVersion: request.desiredAPIVersion,
      }));
      const response = { uid: request.uid, result: { status: 'Success' }, convertedObjects };
      return JSON.stringify({ kind: 'ConversionReview', apiVersion, response });
    },
  };
}

/** Returns the stored object as other replicas read it, from its bytes only. */
function storedObject(world: World): DetachedObject {
  const [stored] = world.backend.objects.values();
  if (stored === undefined) throw new Error('nothing is stored');
  return new DetachedObject(stored);
}

test('a worker calls the webhook through the main thread', async () => {
  const asked: JsonObject[] = [];
  const world = setup({ sender: webhook(asked) });
  const { status, body } = await create(world, 'large', { text: LONG });
  expect(status).toBe(201);
  expect(body).toMatchObject({ apiVersion: 'example.com/v1', metadata: { labels: { converted: 'yes' } } });
  expect(world.started).toHaveLength(1);
  expect(asked.map(({ apiVersion }) => apiVersion)).toEqual(['example.com/v1', 'example.com/v0']);
  expect(storedObject(world).decode()).toMatchObject({ apiVersion: 'example.com/v0', spec: { text: LONG } });
});

test('a worker renders a large object in another version, and the result is cached', async () => {
  const asked: JsonObject[] = [];
  const world = setup({ sender: webhook(asked) });
  await create(world, 'large', { text: LONG, size: 5 });
  asked.length = 0;
  const object = storedObject(world);
  const { prepare, json } = world.api.served;
  expect(json.isMade?.(object)).toBe(false);
  await Promise.all([prepare?.([object]), prepare?.([object])]);
  expect(asked).toHaveLength(1);
  expect(world.started[0]?.posted.map(({ type }) => type)).toContain('show');
  expect(json.isMade?.(object)).toBe(true);
  const shown = JSON.parse(Buffer.from(json.render(object)).toString()) as JsonObject;
  expect(shown).toMatchObject({ apiVersion: 'example.com/v1', spec: { size: 5 }, metadata: { resourceVersion: '1' } });
});

test('returns the error of the webhook', async () => {
  const refusing = { send: () => Promise.reject(new Error('no')) };
  const world = setup({ sender: refusing });
  expect(await failure(create(world, 'large', { text: LONG }))).toMatchObject({
    code: 500,
    message: 'conversion webhook for example.com/v1, Kind=Thing failed: no',
  });
});

test('another worker runs while one waits for a webhook', async () => {
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const asked: JsonObject[] = [];
  const world = setup({ sender: webhook(asked, () => answered) });
  const waiting = create(world, 'first', { text: LONG });
  const refused = failure(create(world, 'second', { text: LONG, size: 11 }));
  expect(await refused).toMatchObject({ code: 422 });
  expect(world.started).toHaveLength(2);
  expect(asked).toEqual([]);
  answer();
  expect((await waiting).status).toBe(201);
});

test('an aborted wait for a webhook releases the worker', async () => {
  const gone = new AbortController();
  const never = new Promise<void>(() => undefined);
  const world = setup({
    sender: webhook([], () => {
      gone.abort(new Error('the client went away'));
      return never;
    }),
  });
  expect(await failure(create(world, 'large', { text: LONG }, gone.signal))).toMatchObject({
    message: 'the client went away',
  });
  expect(await failure(create(world, 'other', { text: LONG, size: 11 }))).toMatchObject({ code: 422 });
  expect(world.started.some(({ terminated }) => terminated)).toBe(false);
});
