import { Http1 } from './client.js';
import { serverForFile } from './server.js';

const server = serverForFile();
const BASE = '/api/v1/namespaces/default';

const service = (name: string, finalizers: readonly string[] = []): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, finalizers },
  spec: { clusterIP: 'None', ports: [{ port: 80 }] },
});

/** Creates a service with endpoints of the same name. Returns a function that returns the status of a request about either. */
async function prepare(
  name: string,
  finalizers?: readonly string[],
): Promise<(method: string, kind: string, body?: object) => Promise<number>> {
  const http = new Http1(server.current);
  await http.post(`${BASE}/services`, service(name, finalizers));
  await http.post(`${BASE}/endpoints`, { apiVersion: 'v1', kind: 'Endpoints', metadata: { name } });
  const headers = { 'content-type': 'application/merge-patch+json' };
  return async (method, kind, body) => {
    const path = `${BASE}/${kind}/${name}`;
    return (await http.send({ method, path, ...(body === undefined ? {} : { body, headers }) })).status;
  };
}

test('endpoints are deleted with their service', async () => {
  const ask = await prepare('gone');
  expect(await ask('GET', 'endpoints')).toBe(200);
  expect(await ask('DELETE', 'services')).toBe(200);
  expect(await ask('GET', 'endpoints')).toBe(404);
});

test('endpoints stay while the service has finalizers', async () => {
  const ask = await prepare('held', ['example.com/a']);
  expect(await ask('DELETE', 'services')).toBe(200);
  expect(await ask('GET', 'endpoints')).toBe(200);
  expect(await ask('PATCH', 'services', { metadata: { finalizers: null } })).toBe(200);
  expect(await ask('GET', 'endpoints')).toBe(404);
});
