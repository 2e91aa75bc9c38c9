import { Http2, treeOf } from './client.js';
import { serverForFile } from './server.js';

const server = serverForFile([
  '--goaway-chance',
  '0.02',
  '--strict-transport-security-directives',
  'max-age=31536000,includeSubDomains',
]);

test('HTTP/2 connections get a GOAWAY at random, and their requests are still answered', async () => {
  const http = new Http2(server.current);
  const farewells: number[] = [];
  http.session.on('goaway', (code: number) => farewells.push(code));
  // The chance that 2000 requests get no GOAWAY is 10⁻¹⁸.
  for (let i = 0; i < 2000 && !http.session.closed && !http.session.destroyed; i++) {
    const answer = await http.send({ path: '/version' });
    expect(treeOf(answer)['major']).toBe('1');
  }
  expect(farewells).toEqual([0]);
  expect((await new Http2(server.current).send({ path: '/version' })).status).toBe(200);
});

test('the HSTS header has the directives of the flag', async () => {
  const answer = await new Http2(server.current).send({ path: '/version' });
  expect(answer.headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains');
});
