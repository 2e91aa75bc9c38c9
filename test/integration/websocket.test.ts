import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import { parseJson } from '../../src/apimachinery/json/decode.js';
import { digText, Http1, treeOf } from './client.js';
import { configMap } from './objects.js';
import { ADMIN, eventually, NOBODY, serverForFile } from './server.js';

const server = serverForFile();
const MAPS = '/api/v1/namespaces/default/configmaps';
const PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

interface Heard {
  readonly socket: WebSocket;
  readonly messages: (string | Buffer)[];
  readonly closed: Promise<number>;
}

const address = (path: string): string => `wss://127.0.0.1:${server.current.port}${path}`;

function open(path: string, headers: Record<string, string> = {}, protocols: string[] = []): Heard {
  const options = { ca: server.current.ca, origin: 'https://dashboard', headers };
  const socket = new WebSocket(address(path), protocols, options);
  const messages: (string | Buffer)[] = [];
  socket.on('message', (data: Buffer, binary: boolean) => messages.push(binary ? data : data.toString()));
  const closed = new Promise<number>((resolve, reject) => {
    socket.on('close', resolve).on('error', reject);
  });
  return { socket, messages, closed };
}

const asAdmin = { authorization: `Bearer ${ADMIN}` };

/** Formats an event as `ADDED name`. */
function line(message: string | Buffer): string {
  const event = { text: String(message) };
  return `${digText(treeOf(event), 'type')} ${digText(treeOf(event), 'object', 'metadata', 'name')}`;
}

/** Returns the whole response to a request that ends its connection. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port, ca } = server.current;
    let heard = '';
    const socket = connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'] }, () => socket.write(text));
    socket.setEncoding('latin1').on('data', (chunk: string) => (heard += chunk));
    socket.on('error', reject).on('close', () => {
      resolve(heard);
    });
  });
}

const handshake = (path: string, ...fields: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket', ...fields, '', ''].join('\r\n');

test('a watch sends one event per message until its timeout', async () => {
  const http = new Http1(server.current);
  const { socket, messages, closed } = open(`${MAPS}?watch=1&fieldSelector=metadata.name%3Dws`, asAdmin);
  await new Promise((resolve) => socket.once('open', resolve));
  await http.send({ method: 'POST', path: MAPS, body: configMap('ws', { a: '1' }) });
  await http.send({ method: 'DELETE', path: `${MAPS}/ws` });
  await eventually('both events', () => Promise.resolve(messages.length >= 2 || undefined));
  expect(messages.map(line)).toEqual(['ADDED ws', 'DELETED ws']);
  expect(messages.every((message) => typeof message === 'string' && message.endsWith('}\n'))).toBe(true);
  const pong = new Promise((resolve) => socket.once('pong', resolve));
  socket.ping();
  await pong;
  socket.close();
  await closed;
  const short = open(`${MAPS}?watch=1&timeoutSeconds=1`, asAdmin);
  expect(await short.closed).toBe(1000);
});

test('existing objects arrive one per message, in Protobuf without length prefixes', async () => {
  const http = new Http1(server.current);
  for (const name of ['a', 'b', 'c'])
    await http.send({ method: 'POST', path: MAPS, body: configMap(`ws-${name}`, {}) });
  const accept = 'application/vnd.kubernetes.protobuf;stream=watch';
  const { messages, closed } = open(`${MAPS}?watch=1&timeoutSeconds=2`, { ...asAdmin, accept });
  await closed;
  expect(messages.length).toBeGreaterThanOrEqual(3);
  for (const message of messages) expect((message as Buffer).subarray(0, 7).toString('latin1')).toBe('\n\x05ADDED');
});

test('a browser sends its token as a subprotocol', async () => {
  const token = `${PROTOCOL}${Buffer.from(ADMIN).toString('base64url')}`;
  const { socket, closed } = open(`${MAPS}?watch=1&timeoutSeconds=1`, {}, [token, 'v1.example']);
  expect(await closed).toBe(1000);
  expect(socket.protocol).toBe('v1.example');
});

test('a rejected request gets the usual response', async () => {
  const { status, body } = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const options = { ca: server.current.ca, origin: 'https://x', headers: { authorization: `Bearer ${NOBODY}` } };
    const socket = new WebSocket(address(`${MAPS}?watch=1`), options);
    socket.on('error', reject).on('unexpected-response', (_request, response) => {
      let text = '';
      response
        .on('data', (chunk: Buffer) => (text += chunk.toString()))
        .on('end', () => {
          resolve({ status: response.statusCode, body: text });
        });
    });
  });
  expect(status).toBe(403);
  expect(digText(parseJson(body) as never, 'reason')).toBe('Forbidden');
});

test.each([
  [
    'no origin',
    ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13'],
    'HTTP/1.1 403 Forbidden\r\n\r\n',
  ],
  [
    'no key',
    ['Sec-WebSocket-Version: 13', 'Origin: https://x'],
    'HTTP/1.1 400 Bad Request\r\n\r\nmismatch challenge/response',
  ],
  [
    'another version',
    ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 8', 'Origin: https://x'],
    'HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version',
  ],
])('a handshake with %s', async (_name, fields, answer) => {
  expect(await raw(handshake(`${MAPS}?watch=1`, `Authorization: Bearer ${ADMIN}`, ...fields))).toBe(answer);
});

test('a request that is not a watch, or asks for another protocol, gets no WebSocket', async () => {
  const answer = await raw(handshake('/version', `Authorization: Bearer ${ADMIN}`));
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  const body = JSON.stringify(configMap('other-protocol', { a: '1' }));
  const fields = [`Authorization: Bearer ${ADMIN}`, 'Content-Type: application/json', `Content-Length: ${body.length}`];
  const head = [`POST ${MAPS} HTTP/1.1`, 'Host: x', 'Connection: Upgrade', 'Upgrade: h2c', ...fields, '', ''].join(
    '\r\n',
  );
  expect(await raw(head + body)).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
});
