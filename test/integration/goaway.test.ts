import { Http2, treeOf } from './client.js';
import { serverForFile } from './server.js';

const server = serverForFile([
  '--goaway-chance',
  '0.02',
  '--strict-transport-security-directives',
  'max-age=31536000,includeSubDomains',
]);

test('now and then a client is asked to connect anew, and its requests are answered', async () => {
  const http = new Http2(server.current);
  const farewells: number[] = [];
  http.session.on('goaway', (code: number) => farewells.push(code));
  // In two thousand requests the chance of none is 10⁻¹⁸.
  for (let i = 0; i < 2000 && !http.session.closed && !http.session.destroyed; i++) {
    const answer = await http.send({ path: '/version' });
    expect(treeOf(answer)['major']).toBe('1');
  }
  expect(farewells).toEqual([0]);
  expect((await new Http2(server.current).send({ path: '/version' })).status).toBe(200);
});

test('directives of the flag are in the header', async () => {
  const answer = await new Http2(server.current).send({ path: '/version' });
  expect(answer.headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains');
});
