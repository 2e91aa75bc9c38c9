import { join } from 'node:path';
import { corrupt } from '../storage/fixtures.js';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { digList, digText, Http1, treeOf } from './client.js';
import { define } from './objects.js';
import { scratchFolder, TestServer } from './server.js';

const GROUP = 'undecodable.example.com';
const PATH = `/apis/${GROUP}/v1/namespaces/default/bads`;
const WHY = "invalid character 'g' looking for beginning of value";
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1';

interface Answer {
  readonly status: number;
  readonly message: string;
}

/** The answers of kube-apiserver when it stores undecodable objects, with and without the feature gate for deleting them. */
describe.each([
  ['usually', false],
  ['with AllowUnsafeMalformedObjectDeletion', true],
])('undecodable objects, %s', (_, gate) => {
  let server: TestServer | undefined;
  let client: Http1;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  const start = async (): Promise<void> => {
    server = await TestServer.start(folder, [
      '--controllers=',
      `--feature-gates=WatchList=true,AllowUnsafeMalformedObjectDeletion=${String(gate)}`,
    ]);
    client = new Http1(server);
  };

  const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    client.send({ method, path: PATH + path, headers, ...(body === undefined ? {} : { body }) });
  const ask = async (...call: Parameters<typeof send>): Promise<Answer> => {
    const answer = await send(...call);
    return { status: answer.status, message: digText(treeOf(answer), 'message') };
  };

  beforeAll(async () => {
    await start();
    await define(client, GROUP, 'bads', 'Bad');
    for (let i = 0; i < 6; i++) {
      const metadata = { name: `b${String(i)}`, labels: { n: String(i) } };
      const created = await send('POST', '', { apiVersion: `${GROUP}/v1`, kind: 'Bad', metadata });
      expect(created.status).toBe(201);
    }
    await server?.stop();
    const store = new EmbeddedBackend({ directory: join(folder, 'data', 'store') });
    await store.open();
    for (const [name, text] of [
      ['b2', 'garbage'],
      ['b3', '{"half'],
    ] as const)
      await corrupt(store, `bads.${GROUP}`, `default/${name}`, Buffer.from(text));
    await store.close();
    await start();
  });

  const refusal = (why: unknown): object => ({ status: 500, message: why });
  const unlessGate = gate ? `failed to read one or more bads.${GROUP} from the storage` : WHY;
  const single: unknown = gate
    ? expect.stringMatching(`Key: /${GROUP}/bads/default/b2, .* object not decodable revision=\\d+: ${WHY}$`)
    : WHY;
  const written: unknown = gate ? expect.stringMatching(`^object not decodable revision=\\d+: ${WHY}$`) : WHY;

  test.each(['', '?labelSelector=n%3D1', '?limit=3', '?fieldSelector=metadata.name%3Db2', '?resourceVersion=0'])(
    'list%s',
    async (query) => {
      expect(await ask('GET', query)).toEqual(refusal(unlessGate));
      expect(await ask('GET', query, undefined, { accept: TABLE })).toEqual(refusal(unlessGate));
    },
  );

  test('lists the object names if they can be deleted', async () => {
    const { details, reason } = treeOf(await send('GET', '?limit=3')) as Record<string, unknown>;
    expect(reason).toBe(gate ? 'StorageReadError' : undefined);
    if (!gate) return;
    const key = (name: string): string => `/registry/${GROUP}/bads/default/${name}`;
    expect(details).toEqual({
      name: 'list',
      group: GROUP,
      kind: 'bads',
      causes: [
        { reason: 'UnexpectedServerResponse', message: expect.stringContaining(WHY) as string, field: key('b2') },
        {
          reason: 'UnexpectedServerResponse',
          message: expect.stringContaining('unexpected end of JSON input') as string,
          field: key('b3'),
        },
      ],
    });
  });

  test('does not affect the other objects', async () => {
    const first = await send('GET', '?limit=2');
    expect(digList(treeOf(first), 'items')).toHaveLength(2);
    const token = encodeURIComponent(digText(treeOf(first), 'metadata', 'continue'));
    expect(await ask('GET', `?limit=1&continue=${token}`)).toEqual(refusal(unlessGate));
    expect((await ask('GET', '?fieldSelector=metadata.name%3Db1')).status).toBe(200);
    expect((await ask('GET', '/b1')).status).toBe(200);
  });

  test('fails get and writes', async () => {
    const merge = { 'content-type': 'application/merge-patch+json' };
    const object = { apiVersion: `${GROUP}/v1`, kind: 'Bad', metadata: { name: 'b2', resourceVersion: '1' } };
    expect(await ask('GET', '/b2')).toEqual(refusal(single));
    expect(await ask('GET', '/b2?resourceVersion=0')).toEqual(refusal(single));
    expect(await ask('PATCH', '/b2', { a: 1 }, merge)).toEqual(refusal(written));
    expect(await ask('PUT', '/b2', object)).toEqual(refusal(written));
    expect(await ask('POST', '', { ...object, metadata: { name: 'b2' } })).toEqual({
      status: 409,
      message: `bads.${GROUP} "b2" already exists`,
    });
    expect(await ask('DELETE', '/b2')).toEqual(refusal(single));
    expect(await ask('DELETE', '/b2?dryRun=All')).toEqual(refusal(single));
    expect(await ask('DELETE', '')).toEqual(refusal(unlessGate));
    expect((await ask('GET', '/b1')).status).toBe(200);
  });

  test('watches end with the error', async () => {
    const query = '?watch=1&timeoutSeconds=5&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    const events = (await send('GET', query)).text.trim().split('\n');
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ type: 'ERROR', object: { code: 500, message: WHY } });
  });

  test('deletes an object without reading it', async () => {
    const query = '?ignoreStoreReadErrorWithClusterBreakingPotential=true';
    for (const name of ['b2', 'b3']) {
      const answer = treeOf(await send('DELETE', `/${name}${query}`)) as Record<string, unknown>;
      if (gate) expect(answer).toMatchObject({ status: 'Success', details: { name, kind: 'Bad' }, code: 200 });
      else expect(answer).toMatchObject({ status: 'Failure', code: 500 });
    }
    expect((await ask('GET', '')).status).toBe(gate ? 200 : 500);
  });
});
