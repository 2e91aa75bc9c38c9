import fc from 'fast-check';
import { ResponseReader } from './response-reader.js';

const LIMIT = 10_000;
/** Reads a text in pieces of these sizes, and the rest as the last piece. */
function readCut(text: string, cuts: readonly number[]): { reader: ResponseReader; complete: boolean } {
  const reader = new ResponseReader((length) => {
    if (length > LIMIT) throw new Error(`the response exceeds ${LIMIT} bytes`);
  });
  let rest = Buffer.from(text);
  let complete = false;
  for (const size of [...cuts, Infinity]) {
    const piece = rest.subarray(0, size);
    rest = rest.subarray(size);
    if (piece.length > 0) complete = reader.read(piece);
  }
  return { reader, complete };
}

const chunked = (body: string, sizes: readonly number[]): string => {
  let rest = Buffer.from(body);
  let text = '';
  for (const size of [...sizes, LIMIT]) {
    const chunk = rest.subarray(0, size);
    rest = rest.subarray(size);
    if (chunk.length > 0) text += `${chunk.length.toString(16)};x=y\r\n${chunk.toString('latin1')}\r\n`;
  }
  return `${text}0\r\nTrailer: t\r\n\r\n`;
};

test('a response is parsed the same however it is split', () => {
  const ascii = fc.string({ unit: fc.constantFrom('a', '{', '\r', '\n', '0'), maxLength: 300 });
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 });
  fc.assert(
    fc.property(ascii, sizes, sizes, fc.boolean(), fc.boolean(), (body, chunks, cuts, isChunked, continues) => {
      const interim = continues ? 'HTTP/1.1 100 Continue\r\nX: y\r\n\r\n' : '';
      const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${String(body.length)}`;
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;
      const { reader, complete } = readCut(interim + head + (isChunked ? chunked(body, chunks) : body), cuts);
      expect(complete).toBe(true);
      expect(reader.status).toBe(200);
      expect(reader.headers.get('content-type')).toBe('application/json');
      expect(reader.body()).toBe(body);
      expect(reader.keepsAlive).toBe(true);
    }),
  );
});

test('without a length the body ends with the connection', () => {
  const { reader, complete } = readCut('HTTP/1.1 200 OK\r\n\r\nall of it', [20, 3]);
  expect(complete).toBe(false);
  expect(reader.end()).toBe(true);
  expect([reader.body(), reader.keepsAlive]).toEqual(['all of it', false]);
});

test('a truncated body is not complete', () => {
  const { reader, complete } = readCut('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', []);
  expect([complete, reader.end(), reader.started]).toEqual([false, false, true]);
});

test.each<[string, string, boolean]>([
  ['says so', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', false],
  ['is of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', false],
  ['is of HTTP/1.0 and says otherwise', 'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n', true],
  ['is followed by more', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore', false],
  ['has no body', 'HTTP/1.1 204 No Content\r\n\r\n', true],
])('the connection after a response that %s', (_, text, kept) => {
  const { reader, complete } = readCut(text, []);
  expect([complete, reader.keepsAlive]).toEqual([true, kept]);
});

test.each([
  ['SSH-2.0-x\r\n\r\n', 'malformed HTTP response "SSH-2.0-x"'],
  ['HTTP/1.1 101 Switching\r\n\r\n', 'switches protocols'],
  ['HTTP/1.1 200 OK\r\nno header\r\n\r\n', 'malformed MIME header line: no header'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 'conflicting Content-Length headers'],
  ['HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', 'bad Content-Length "-1"'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n', 'unsupported transfer encoding: "gzip"'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n', 'invalid byte in chunk length'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n', 'malformed chunked encoding'],
  [`HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n${'x'.repeat(20000)}`, 'the response exceeds 10000 bytes'],
  [`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70000)}`, 'the response header exceeds'],
])('refuses %j', (text, error) => {
  expect(() => readCut(text, [])).toThrow(error);
});

test('a body in tiny chunks is kept in few pieces', () => {
  const reader = new ResponseReader(() => undefined);
  const lengths: number[] = [];
  const concat = jest.spyOn(Buffer, 'concat').mockImplementation((list) => {
    lengths.push(list.length);
    return Buffer.from(Buffer.alloc(0));
  });
  reader.read(
    Buffer.from(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(200_000)}0\r\n\r\n`),
  );
  reader.body();
  concat.mockRestore();
  expect(Math.max(...lengths)).toBeLessThan(20);
});
