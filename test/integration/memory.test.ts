import { Http1 } from './client.js';
import { largeRole } from './objects.js';
import { eventually, scratchFolder, TestServer } from './server.js';

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
let server: TestServer | undefined;
const folder = scratchFolder(async () => {
  server?.signal('SIGTERM');
  await server?.exited;
});

test('a server with an almost full heap rejects creates and stays up; deletions free memory', async () => {
  server = await TestServer.start(folder, ['--controllers='], {
    NODE_OPTIONS: '--max-old-space-size=110 --max-semi-space-size=16',
  });
  const http = new Http1(server);
  let created = 0;
  let refused = await http.post(ROLES, largeRole(created));
  while (refused.status === 201) refused = await http.post(ROLES, largeRole(++created));
  expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('of the usable JavaScript heap')]);
  expect((await http.get('/readyz/memory')).status).toBe(500);
  expect((await http.get(`${ROLES}/heap-0`)).status).toBe(200);
  expect((await http.get('/metrics')).text).toMatch(/annex_memory_refusals_total\{operation="create"\} [1-9]/);
  for (let i = 0; i < created; i++) await http.send({ method: 'DELETE', path: `${ROLES}/heap-${i}` });
  await eventually('a create is taken again', async () =>
    (await http.post(ROLES, largeRole(created))).status === 201 ? true : undefined,
  );
  expect((await http.get('/readyz')).status).toBe(200);
});
