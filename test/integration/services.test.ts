import { Http1 } from './client.js';
import { serverForFile } from './server.js';

const server = serverForFile();
const BASE = '/api/v1/namespaces/default';

// Until v1.36 kube-apiserver deleted the Endpoints of a Service together with it; since v1.37 it leaves that to controllers.
test('endpoints stay when their service is deleted, as in v1.37', async () => {
  const http = new Http1(server.current);
  const spec = { clusterIP: 'None', ports: [{ port: 80 }] };
  await http.post(`${BASE}/services`, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'gone' }, spec });
  await http.post(`${BASE}/endpoints`, { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'gone' } });
  expect((await http.send({ method: 'DELETE', path: `${BASE}/services/gone` })).status).toBe(200);
  expect((await http.get(`${BASE}/services/gone`)).status).toBe(404);
  expect((await http.get(`${BASE}/endpoints/gone`)).status).toBe(200);
});
