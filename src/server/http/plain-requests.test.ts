import { connect, type Socket } from 'node:net';
import { createServer, type Server } from 'node:http';
import { isPlainRequest, refuseUnreadable } from './plain-requests.js';

let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer({ requireHostHeader: false }, (request, response) => {
    if (isPlainRequest(request, response)) response.end('taken');
  });
  server.on('clientError', refuseUnreadable);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Returns the status line and the body of the response. */
function ask(...head: string[]): Promise<[string, string]> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1', () =>
      socket.write(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n`),
    );
    let text = '';
    socket.on('data', (data: Buffer) => (text += data.toString()));
    socket.on('error', reject);
    socket.on('end', () => {
      socket.destroy();
      resolve([text.slice(9, text.indexOf('\r')), text.slice(text.indexOf('\r\n\r\n') + 4)]);
    });
  });
}

const malformed = '400 Bad Request: malformed Host header';
const missing = '400 Bad Request: missing required Host header';
const encoding = ['501 Not Implemented', 'Unsupported transfer encoding'] as const;

test.each<[string, string[], readonly [string, string]]>([
  ['any host', ['Host: a_b~!:99999'], ['200 OK', 'taken']],
  ['an empty host', ['Host: '], ['200 OK', 'taken']],
  ['a space', ['Host: a b'], [malformed, malformed]],
  ['a slash', ['Host: a/b'], [malformed, malformed]],
  ['beyond ASCII', ['Host: \u00e9'], [malformed, malformed]],
  ['none', ['Accept: */*'], [missing, missing]],
  ['two', ['Host: a', 'Host: a'], ['400 Bad Request', '400 Bad Request']],
  ['another encoding', ['Host: a', 'Transfer-Encoding: gzip, chunked'], encoding],
  ['an encoding that is not the last', ['Host: a', 'Transfer-Encoding: gzip'], encoding],
  ['an encoding before the host', ['Transfer-Encoding: gzip, chunked'], encoding],
])('%s', async (_name, fields, expected) => {
  expect(await ask('GET / HTTP/1.1', ...fields)).toEqual([...expected]);
});

test('HTTP/1.0 needs no host', async () => {
  expect(await ask('GET / HTTP/1.0', 'Accept: */*')).toEqual(['200 OK', 'taken']);
});

test('a head that times out gets no response, so that its client does not take it for a refusal', async () => {
  const impatient = createServer({ headersTimeout: 50, requestTimeout: 0, connectionsCheckingInterval: 20 });
  impatient.on('clientError', refuseUnreadable);
  await new Promise<void>((resolve) => impatient.listen(0, '127.0.0.1', resolve));
  const address = impatient.address();
  const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n');
  await closed;
  expect(text).toBe('');
  await new Promise((resolve) => impatient.close(resolve));
});
