import { createHandler } from '../endpoints/handlers/create.js';
import { ApiError } from '../apimachinery/meta/errors.js';
import { closeAll, failure, LONG, scopeOf, setup, thing, type World } from '../../test/fakes/offload/world.js';

afterEach(closeAll);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Sends a large write of a user. Resolves with its error, if it has one. */
function write(world: World, user: string, name: string, bytes = LONG.length): Promise<unknown> {
  const { scope } = scopeOf(world, 'create', name, JSON.stringify(thing(name, { text: 'x'.repeat(bytes) })));
  scope.context.user = { name: user, uid: '', groups: [], extra: {} };
  return failure(Promise.resolve(createHandler(scope)));
}

/** Finishes the running task. Returns the users of all tasks that the worker got so far. */
async function finishOne(world: World): Promise<string[]> {
  const tasks = (): { id: number; user: string }[] =>
    (world.started[0]?.posted ?? []).flatMap((message) =>
      message.type === 'task' ? [{ id: message.id, user: message.user.name }] : [],
    );
  world.started[0]?.finish(tasks().at(-1)?.id ?? 0);
  await turn();
  return tasks().map(({ user }) => user);
}

test('the write of another user waits for the running task only, however many one user has queued', async () => {
  const world = setup({ stuck: true });
  const loud = Array.from({ length: 60 }, (_, i) => write(world, 'loud', `l${i}`));
  await turn();
  const quiet = write(world, 'quiet', 'q');
  await turn();
  expect(await finishOne(world)).toEqual(['loud', 'quiet']);
  expect(await finishOne(world)).toEqual(['loud', 'quiet', 'loud']);
  expect(await quiet).toBeUndefined();
  world.pool.close();
  await Promise.all(loud);
});

test('users take turns', async () => {
  const world = setup({ stuck: true });
  const all = ['a', 'a', 'a', 'b', 'b', 'c'].map((user, i) => write(world, user, `${user}${i}`));
  await turn();
  for (let i = 0; i < 4; i++) await finishOne(world);
  expect((await finishOne(world)).join('')).toBe('abcaba');
  world.pool.close();
  await Promise.all(all);
});

test('a user who fills the queue leaves room for others, up to a bound', async () => {
  const world = setup({ stuck: true, maxQueuedBytes: 400_000 });
  const ended: string[] = [];
  const send = (user: string): void => {
    void write(world, user, user).then((error) =>
      ended.push(error instanceof ApiError ? `${user} ${error.code}` : user),
    );
  };
  for (let i = 0; i < 10; i++) send('loud');
  await turn();
  // One runs and four wait, which is three quarters of the limit.
  expect(ended).toEqual(Array<string>(5).fill('loud 429'));
  for (let user = 0; user < 20; user++) send(`u${user}`);
  await turn();
  expect(ended.slice(5)).toHaveLength(20 - 7);
  world.pool.close();
});
