import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { FaultProxy } from './proxy.js';

/** The bytes received by a server that answers each `x` with `X`. */
let got: string;
let server: Server;
let proxy: FaultProxy;
const sockets: Socket[] = [];

beforeEach(async () => {
  got = '';
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      got += bytes.toString();
      socket.write(bytes.toString().toUpperCase());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy = await FaultProxy.start((server.address() as AddressInfo).port);
});

afterEach(async () => {
  await proxy.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

class Client {
  text = '';
  closed = false;
  private readonly socket: Socket;

  constructor() {
    this.socket = connect(proxy.port, '127.0.0.1');
    sockets.push(this.socket);
    this.socket.on('data', (bytes) => (this.text += bytes.toString()));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => (this.closed = true));
  }

  send(text: string): void {
    this.socket.write(text);
  }

  end(): void {
    this.socket.end();
  }
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error('it did not come about');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Long enough for bytes that pass by mistake to arrive. */
const ATTEMPT_MILLIS = 50;
const attempt = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, ATTEMPT_MILLIS));

async function connected(): Promise<Client> {
  const client = new Client();
  client.send('a');
  await until(() => client.text === 'A');
  return client;
}

test('passes bytes and the end of a connection', async () => {
  const client = await connected();
  sockets[1]?.end();
  await until(() => client.closed && proxy.connections === 0);
});

test('cut: existing and new connections are closed until it passes again', async () => {
  const client = await connected();
  proxy.cut();
  const refused = new Client();
  await until(() => client.closed && refused.closed);
  proxy.pass();
  await connected();
});

test('swallow: connections stay, and sent bytes arrive when it heals', async () => {
  const client = await connected();
  proxy.swallow();
  const other = new Client();
  client.send('b');
  other.send('c');
  await attempt();
  expect([got, client.text, other.text, client.closed, other.closed]).toEqual(['a', 'A', '', false, false]);
  proxy.pass();
  await until(() => client.text === 'AB' && other.text === 'C');
});

test('swallow in one direction', async () => {
  const client = await connected();
  proxy.swallow('answers');
  client.send('b');
  await until(() => got === 'ab');
  await attempt();
  expect(client.text).toBe('A');
  proxy.swallow('requests');
  await until(() => client.text === 'AB');
  client.send('c');
  await attempt();
  expect(got).toBe('ab');
  proxy.pass();
  await until(() => client.text === 'ABC');
});

test('lost responses: requests arrive, and the connection ends when it heals', async () => {
  const [client, idle] = [await connected(), await connected()];
  proxy.loseAnswers();
  client.send('b');
  await until(() => got === 'aab');
  await attempt();
  expect([client.text, client.closed]).toEqual(['A', false]);
  proxy.pass();
  await until(() => client.closed);
  idle.send('c');
  await until(() => idle.text === 'AC');
  expect(client.text).toBe('A');
});

test('delay: bytes arrive later, in order', async () => {
  const client = await connected();
  proxy.delay(80, 'answers');
  const begun = performance.now();
  client.send('b');
  await until(() => got === 'ab');
  client.send('c');
  await until(() => client.text === 'ABC');
  expect(performance.now() - begun).toBeGreaterThanOrEqual(79);
});

test('a mode set by inspect applies to the inspected bytes', async () => {
  const client = await connected();
  proxy.inspect = (bytes, direction) => {
    if (direction === 'requests' && bytes.includes('commit')) proxy.loseAnswers();
  };
  client.send('commit');
  await until(() => got === 'acommit');
  await attempt();
  expect(client.text).toBe('A');
});

test('stops reading when it holds back too much', async () => {
  const client = await connected();
  proxy.swallow();
  const text = 'x'.repeat(1 << 20);
  for (let i = 0; i < 16; i++) client.send(text);
  await attempt();
  proxy.pass();
  await until(() => client.text.length === 1 + (16 << 20));
});

test('a reset during a pending end leaves nothing open', async () => {
  const open = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const client = await connected();
  proxy.swallow();
  client.end();
  await attempt();
  proxy.pass();
  proxy.reset();
  await until(() => client.closed && proxy.connections === 0);
  for (const socket of sockets) socket.destroy();
  const end = performance.now() + 2_000;
  while (open() > 0 && performance.now() < end) await attempt();
  expect(open()).toBe(0);
});
