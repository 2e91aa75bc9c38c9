import { dig, Http1, digList, digText, treeOf } from './client.js';
import { serverForFile } from './server.js';

const PATH = '/api/v1/namespaces/default/configmaps';
const server = serverForFile([]);

const fieldsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token, 'base64url').toString('utf8')) as Record<string, unknown>;
const tokenOf = (fields: object): string => Buffer.from(JSON.stringify(fields)).toString('base64url');

test('a continue token of another log gets a 410, whose token continues at the newest revision', async () => {
  const http = new Http1(server.current);
  for (const name of ['a', 'b', 'c']) expect((await http.post(PATH, { metadata: { name } })).status).toBe(201);
  const page = treeOf(await http.get(`${PATH}?limit=1`));
  const token = digText(page, 'metadata', 'continue');
  const { log, at, ...rest } = fieldsOf(token);
  expect(String(at)).toBe(digText(page, 'metadata', 'resourceVersion'));
  const names = async (continued: string): Promise<readonly string[]> => {
    const list = treeOf(await http.get(`${PATH}?continue=${continued}`));
    return digList(list, 'items').map((item) => digText(item, 'metadata', 'name'));
  };
  const own = await names(token);
  expect(own).toEqual(expect.arrayContaining(['b', 'c']));
  for (const foreign of [
    { ...rest, log: 'another', at },
    { ...rest, rv: at },
    { ...rest, log },
  ]) {
    const refused = await http.get(`${PATH}?continue=${tokenOf(foreign)}`);
    expect([refused.status, digText(treeOf(refused), 'reason')]).toEqual([410, 'Expired']);
    const fresh = digText(treeOf(refused), 'metadata', 'continue');
    expect(fieldsOf(fresh)['rv']).toBe(-1);
    expect(await names(fresh)).toEqual(own);
  }
});

test('a continue token with a revision of the future gets a 504, as one that was never given out', async () => {
  const http = new Http1(server.current);
  const page = treeOf(await http.get(`${PATH}?limit=1`));
  const own = fieldsOf(digText(page, 'metadata', 'continue'));
  const future = 1_000_000_000;
  for (const [path, fields, retry] of [
    [PATH, { v: own['v'], rv: future, start: own['start'] }, 1],
    [PATH, { ...own, at: future }, 1],
    ['/api/v1/namespaces/default/events', { v: own['v'], rv: future, start: own['start'] }, undefined],
  ] as const) {
    const refused = await http.get(`${path}?continue=${tokenOf(fields)}`);
    expect([refused.status, digText(treeOf(refused), 'message')]).toEqual([
      504,
      expect.stringMatching(/^Timeout: Too large resource version: 1000000000, current: \d+$/),
    ]);
    expect(dig(treeOf(refused), 'details')).toEqual({
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      ...(retry !== undefined && { retryAfterSeconds: retry }),
    });
  }
});
