import { PassThrough } from 'node:stream';
import { packetOf, reparseRequest } from './reparse.js';

const refused = (text: string, code: string, bytesParsed: number): Error =>
  Object.assign(new Error('Parse Error'), { code, bytesParsed, rawPacket: Buffer.from(text, 'latin1') });

describe('requests that the parser refuses', () => {
  test.each([
    [
      'a custom method',
      'FOO /api HTTP/1.1\r\nA: b\r\n\r\n',
      'HPE_INVALID_METHOD',
      1,
      'FOO',
      '/api',
      'POST / HTTP/1.1\r\nA: b\r\n\r\n',
    ],
    ['lower case', 'get /a?b HTTP/1.0\r\n\r\n', 'HPE_INVALID_METHOD', 0, 'get', '/a?b', 'POST / HTTP/1.0\r\n\r\n'],
    [
      'bytes beyond ASCII',
      'GET /\xff\xc3 HTTP/1.1\r\n\r\n',
      'HPE_INVALID_URL',
      5,
      'GET',
      '/%ff%c3',
      'GET / HTTP/1.1\r\n\r\n',
    ],
    [
      'what came before',
      'B: c\r\n\r\nX / HTTP/1.1\r\n\r\nbody',
      'HPE_INVALID_METHOD',
      8,
      'X',
      '/',
      'POST / HTTP/1.1\r\n\r\nbody',
    ],
  ])('%s', (_, text, code, at, method, target, again) => {
    const request = reparseRequest(refused(text, code, at), new PassThrough());
    expect(request).toMatchObject({ method, target });
    expect((request?.read() as Buffer).toString('latin1')).toBe(again);
  });

  test.each([
    ['a method that is not a token', 'G@(T / HTTP/1.1\r\n\r\n', 'HPE_INVALID_METHOD', 1],
    ['a target that started earlier', 'a\xff HTTP/1.1\r\n\r\n', 'HPE_INVALID_URL', 1],
    ['a head that does not end', 'FOO / HTTP/1.1\r\nA: b\r\n', 'HPE_INVALID_METHOD', 1],
    ['another version', 'FOO / HTTP/2.0\r\n\r\n', 'HPE_INVALID_METHOD', 1],
    ['a tunnel', 'CONNECT \xff HTTP/1.1\r\n\r\n', 'HPE_INVALID_URL', 8],
    ['another error', 'GET / HTTP/1.1\r\nA B: c\r\n\r\n', 'HPE_INVALID_HEADER_TOKEN', 17],
  ])('%s stays refused', (_, text, code, at) => {
    expect(reparseRequest(refused(text, code, at), new PassThrough())).toBeUndefined();
  });

  test('appends later data, and writes the response to the socket', () => {
    const socket = new PassThrough();
    const request = reparseRequest(refused('FOO / HTTP/1.1\r\n\r\n', 'HPE_INVALID_METHOD', 1), socket);
    request?.read();
    request?.append(packetOf(refused('more', 'HPE_INVALID_METHOD', 0)) ?? Buffer.alloc(0));
    expect(String(request?.read())).toBe('more');
    request?.write('answer');
    expect(String(socket.read())).toBe('answer');
    request?.destroy();
    expect(socket.destroyed).toBe(true);
  });
});
