import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { type Address, ConnectionPool, type Received } from './connection-pool.js';

const ADDRESS: Address = { host: '127.0.0.1', port: 443, serverName: '' };
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n';

/** A connection whose far end the test controls. */
class FakeSocket extends Duplex {
  sent = '';
  readonly setNoDelay = (): void => undefined;
  readonly setKeepAlive = (): void => undefined;
  readonly ref = (): void => undefined;
  readonly unref = (): void => undefined;

  override _read(): void {
    // Data is pushed.
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.sent += chunk.toString();
    done();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function poolOf(
  max: number,
  { handshakes = false } = {},
): {
  readonly pool: ConnectionPool;
  readonly sockets: FakeSocket[];
  readonly clock: FakeClock;
  readonly ask: (what: string, address?: Address) => Promise<string>;
  readonly cancel: (what: string) => void;
} {
  const sockets: FakeSocket[] = [];
  const clock = new FakeClock();
  const listeners = new Map<string, (error: Error) => void>();
  const connect = (): TLSSocket => {
    const socket = new FakeSocket();
    if (!handshakes) queueMicrotask(() => socket.emit('secureConnect'));
    sockets.push(socket);
    return socket as unknown as TLSSocket;
  };
  const pool = new ConnectionPool(connect, max, clock);
  const ask = async (what: string, address = ADDRESS): Promise<string> => {
    const received: Received = await pool.request({
      address,
      bytes: Buffer.from(what),
      checkLength: (length) => {
        if (length > 100) throw new Error('the response exceeds 100 bytes');
      },
      onOver: (listener) => listeners.set(what, listener),
    });
    return received.response.body();
  };
  return { pool, sockets, clock, ask, cancel: (what) => listeners.get(what)?.(new Error('cancelled')) };
}

test('a connection serves requests one after another', async () => {
  const { sockets, ask } = poolOf(2);
  for (const name of ['one', 'two']) {
    const answer = ask(name);
    sockets[0]?.push(`${OK}\r\nok`);
    expect(await answer).toBe('ok');
  }
  expect(sockets.map(({ sent }) => sent)).toEqual(['onetwo']);
});

test('nothing is sent before the handshake is over', async () => {
  const { sockets, ask } = poolOf(1, { handshakes: true });
  const answer = ask('secret');
  expect(sockets[0]?.sent).toBe('');
  sockets[0]?.emit('secureConnect');
  expect(sockets[0]?.sent).toBe('secret');
  sockets[0]?.push(`${OK}\r\nok`);
  await answer;
});

test('requests beyond the limit wait, and can be canceled', async () => {
  const { sockets, ask, cancel } = poolOf(1);
  const [first, second, third] = [ask('1'), ask('2'), ask('3')];
  cancel('2');
  await expect(second).rejects.toMatchObject({ message: 'cancelled', onReusedConnection: false });
  sockets[0]?.push(`${OK}\r\nok`);
  await first;
  await turn();
  expect(sockets[0]?.sent).toBe('13');
  sockets[0]?.push(`${OK}\r\nok`);
  expect(await third).toBe('ok');
});

test('canceling a request closes its connection, and the next one gets a new one', async () => {
  const { sockets, ask, cancel } = poolOf(1);
  const [first, second] = [ask('1'), ask('2')];
  cancel('1');
  await expect(first).rejects.toThrow('cancelled');
  expect(sockets[0]?.destroyed).toBe(true);
  sockets[1]?.push(`${OK}\r\nok`);
  expect(await second).toBe('ok');
});

test.each([true, false])('a connection that ends before it responds, after other requests: %s', async (used) => {
  const { sockets, ask } = poolOf(1);
  if (used) {
    const answer = ask('0');
    sockets[0]?.push(`${OK}\r\nok`);
    await answer;
  }
  const lost = ask('1');
  sockets[0]?.push(null);
  await expect(lost).rejects.toMatchObject({
    onReusedConnection: used,
    cause: { message: 'socket hang up', code: 'ECONNRESET' },
  });
});

test('connections are not reused after Connection: close, their Keep-Alive timeout, or their end', async () => {
  const { sockets, clock, ask } = poolOf(5);
  const served = async (at: number, head: string): Promise<void> => {
    const answer = ask(String(at));
    sockets[at]?.push(`${head}\r\nok`);
    await answer;
  };
  await served(0, `${OK}Connection: close\r\n`);
  await served(1, `${OK}Keep-Alive: timeout=5\r\n`);
  clock.advance(3900);
  await served(1, `${OK}Keep-Alive: timeout=5\r\n`);
  clock.advance(4100);
  await served(2, OK);
  sockets[2]?.push(null);
  await turn();
  await served(3, OK);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false]);
});

test('an idle connection to another address is closed to make room', async () => {
  const { sockets, ask } = poolOf(1);
  const there = ask('1');
  sockets[0]?.push(`${OK}\r\nok`);
  await there;
  const elsewhere = ask('2', { ...ADDRESS, host: '127.0.0.2' });
  sockets[1]?.push(`${OK}\r\nok`);
  await elsewhere;
  expect(sockets.map(({ destroyed, sent }) => [destroyed, sent])).toEqual([
    [true, '1'],
    [false, '2'],
  ]);
});

test('a retired pool closes idle connections at once, and the others after their response', async () => {
  const { pool, sockets, ask } = poolOf(2);
  const [first, second] = [ask('1'), ask('2')];
  sockets[0]?.push(`${OK}\r\nok`);
  await first;
  pool.retire();
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  sockets[1]?.push(`${OK}\r\nok`);
  expect(await second).toBe('ok');
  expect(sockets[1]?.destroyed).toBe(true);
});

test('a failure to connect fails the request', async () => {
  const pool = new ConnectionPool(
    () => {
      throw new Error('bad certificate');
    },
    1,
    new FakeClock(),
  );
  const request = { address: ADDRESS, bytes: Buffer.alloc(0), checkLength: () => undefined, onOver: () => undefined };
  await expect(pool.request(request)).rejects.toMatchObject({ message: 'bad certificate', onReusedConnection: false });
  await expect(pool.request(request)).rejects.toThrow('bad certificate');
});
