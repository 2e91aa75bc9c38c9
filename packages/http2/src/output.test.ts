import type { Socket } from 'node:net';
import { Output } from './output.js';

/** A socket that completes each write when `take` is called. */
class SlowSocket {
  destroyed = false;
  writableEnded = false;
  writableLength = 0;
  readonly taken: Buffer[] = [];
  private underway: [bytes: Buffer, done: () => void] | undefined;

  write(bytes: Buffer, done: () => void): boolean {
    expect(this.underway).toBeUndefined();
    this.underway = [bytes, done];
    this.writableLength = bytes.length;
    return false;
  }

  end(): void {
    this.writableEnded = true;
  }

  /** Completes the pending write. Reports whether one was pending. */
  take(): boolean {
    const { underway } = this;
    if (underway === undefined) return false;
    this.underway = undefined;
    // The memory is reused afterwards.
    this.taken.push(Buffer.from(underway[0]));
    this.writableLength = 0;
    underway[1]();
    return true;
  }
}

function outputTo(socket: SlowSocket): Output {
  const nothing = (): void => undefined;
  return new Output(socket as unknown as Socket, nothing, nothing);
}

/** Returns bytes whose values show their position. */
const numbered = (from: number, length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, i) => (from + i) % 251));

test('sends bytes of all lengths in order, regardless of the speed of the socket', () => {
  const socket = new SlowSocket();
  const output = outputTo(socket);
  let total = 0;
  const lengths = [1, 9, 16_384, 5, 70_000, 131_072, 200_000, 3, 16_375, 9, 400_000];
  lengths.forEach((length, i) => {
    output.append(numbered(total, length));
    total += length;
    const memory = output.reserve(9);
    memory.set(numbered(total, 9), output.position);
    output.advance(output.position + 9);
    total += 9;
    if (i % 2 === 0) output.flush();
    if (i % 3 === 0) socket.take();
    expect(output.backlog + socket.taken.reduce((sum, bytes) => sum + bytes.length, 0)).toBe(total);
  });
  output.append(numbered(total - 100, 1000), 100, 150);
  total += 50;
  output.finish();
  while (socket.take());
  expect(Buffer.concat(socket.taken).equals(numbered(0, total))).toBe(true);
  expect(socket.writableEnded).toBe(true);
  for (const { length } of socket.taken) expect(length).toBeLessThanOrEqual(128 * 1024);
});

test('a connection that is never idle reuses its memory', () => {
  const socket = new SlowSocket();
  const output = outputTo(socket);
  const event = numbered(0, 3400);
  const allocations = jest.spyOn(Buffer, 'allocUnsafeSlow');
  for (let turn = 0; turn < 200; turn++) {
    for (let i = 0; i < 50; i++) output.append(event);
    output.flush();
    socket.take();
    // Something always waits for the next turn.
    while (output.backlog > 200_000) socket.take();
    expect(output.backlog).toBeGreaterThan(0);
  }
  expect(allocations.mock.calls.length).toBeLessThan(8);
  allocations.mockRestore();
});

test('small output is sent in one write', () => {
  const socket = new SlowSocket();
  const output = outputTo(socket);
  for (let i = 0; i < 30; i++) output.append(numbered(i * 3000, 3000));
  output.flush();
  while (socket.take());
  expect(socket.taken.map(({ length }) => length)).toEqual([90_000]);
});
