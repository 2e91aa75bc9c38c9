import type { JsonObject } from '../../apimachinery/json/json.js';
import type { ClusterRequest, WholeAnswer } from '../../client/cluster-client.js';
import { systemClock } from '../../util/clock.js';
import { type DeleteFlags, remove } from './delete.js';
import { Session } from './session.js';
import { views } from './views.js';

type Reply = { readonly status?: number; readonly body: JsonObject; readonly headers?: WholeAnswer['headers'] };

/** A session with a server that answers what a test says, and a user who answers `answer`. */
function sessionWith(reply: (request: ClusterRequest) => Reply, answer?: string) {
  const seen: ClusterRequest[] = [];
  const lines = { out: '', error: '', asked: '' };
  const exchange = (request: ClusterRequest): Promise<WholeAnswer> => {
    seen.push(request);
    const found = discovery[request.path] ?? reply(request);
    return Promise.resolve({ status: 200, headers: {}, ...found });
  };
  const terminal = {
    out: (text: string): void => void (lines.out += text),
    error: (line: string): void => void (lines.error += `${line}\n`),
    ask:
      answer === undefined
        ? undefined
        : (question: string): Promise<string> => {
            lines.asked = question;
            return Promise.resolve(answer);
          },
  };
  const client = {
    exchange,
    stream: (): never => {
      throw new Error('no watch');
    },
  };
  return { session: new Session(client, 'n1', systemClock, terminal), seen, lines };
}

function group(name: string, resource: string, kind: string, scope: string): JsonObject {
  const found = { resource, responseKind: { kind }, scope, verbs: ['list', 'delete'], shortNames: [] };
  return { metadata: { name }, versions: [{ version: 'v1', resources: [found] }] };
}

const groups = (items: readonly JsonObject[]): Reply => ({
  body: { kind: 'APIGroupDiscoveryList', items: [...items] },
});
const discovery: Record<string, Reply> = {
  '/api': groups([]),
  '/apis': groups([
    group('example.com', 'boxes', 'Box', 'Namespaced'),
    group('kubeannex.io', 'views', 'View', 'Cluster'),
    group('views.kubeannex.io', 'sums', 'Sum', 'Cluster'),
  ]),
};

afterEach(() => {
  process.exitCode = undefined;
});

describe('delete', () => {
  const row = (name: string): JsonObject => ({
    cells: [name],
    object: { metadata: { name, namespace: 'n1', uid: `uid-${name}`, resourceVersion: `1${name}` } },
  });
  const table = {
    headers: { 'annex-applied': 'where' },
    body: {
      columnDefinitions: [{ name: 'Name', format: 'name', priority: 0 }],
      rows: ['a', 'b', 'c', 'd'].map(row),
      metadata: {},
    },
  };
  const statuses: Record<string, number> = { b: 409, c: 404, d: 403 };
  const reply = ({ method, path }: ClusterRequest): Reply => {
    if (method === 'GET') return table;
    const status = statuses[path.slice(-1)] ?? 200;
    return { status, body: { message: `status ${String(status)}`, reason: 'Reason' } };
  };
  const flags: DeleteFlags = { where: 'object.x', dryRun: 'none' };
  const deletions = (seen: readonly ClusterRequest[]): readonly ClusterRequest[] =>
    seen.filter(({ method }) => method === 'DELETE');

  test('each object is deleted only as it was shown; conflicts are counted', async () => {
    const { session, seen, lines } = sessionWith(reply, 'y');
    await remove(session, 'boxes', flags);
    expect(lines.asked).toBe('Delete 4 boxes.example.com in the namespace n1? [y/N] ');
    expect(deletions(seen).map(({ path }) => path)).toEqual(
      ['a', 'b', 'c', 'd'].map((name) => `/apis/example.com/v1/namespaces/n1/boxes/${name}`),
    );
    expect(deletions(seen)[0]?.body).toMatchObject({ preconditions: { uid: 'uid-a', resourceVersion: '1a' } });
    expect(lines.out).toBe('box.example.com "a" deleted\n');
    expect(lines.error).toBe(
      'NAME\na\nb\nc\nd\nError from server (Reason): status 403\n' +
        '1 deleted, 1 not deleted, because they changed after they were shown (conflict), 1 gone before, 1 refused\n',
    );
    expect(process.exitCode).toBe(1);
  });

  test.each(['n', '', 'nothing', undefined])('nothing is deleted after the answer %j', async (answer) => {
    const { session, seen } = sessionWith(reply, answer);
    await expect(remove(session, 'boxes', flags)).rejects.toThrow('nothing was done');
    expect(deletions(seen)).toEqual([]);
  });

  test('nothing is deleted if the server did not apply the expression', async () => {
    const { session, seen } = sessionWith((request) => ({ ...reply(request), headers: {} }));
    await expect(remove(session, 'boxes', { ...flags, yes: true })).rejects.toThrow(
      'boxes.example.com is not served by Annex',
    );
    expect(deletions(seen)).toEqual([]);
  });
});

test('a warning is shown once', async () => {
  const headers = { warning: '299 - "where: \\"x\\" failed", 299 - "other"' };
  const { session, lines } = sessionWith(() => ({ headers, body: {} }));
  await session.request({ method: 'GET', path: '/x' });
  await session.request({ method: 'GET', path: '/x' });
  expect(lines.error).toBe('Warning: where: "x" failed\nWarning: other\n');
});

test('views says which are ready', async () => {
  const view = (name: string, ready: string, message: string): JsonObject => ({
    metadata: { name },
    spec: { names: { kind: 'Sum' }, source: { group: 'example.com', resource: 'boxes' } },
    status: {
      conditions: [
        { type: 'Ready', status: ready, message },
        { type: 'Complete', status: 'True' },
      ],
    },
  });
  const items = [view('sums.views.kubeannex.io', 'True', ''), view('more.views.kubeannex.io', 'False', 'no such type')];
  const { session, lines } = sessionWith(() => ({ body: { items } }));
  await views(session, {});
  expect(lines.out).toBe(
    'NAME                      KIND   SOURCE              READY   COMPLETE   MESSAGE\n' +
      'sums.views.kubeannex.io   Sum    boxes.example.com   True    True       \n' +
      'more.views.kubeannex.io   Sum    boxes.example.com   False   True       no such type\n',
  );
});
