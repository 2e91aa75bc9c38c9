import { connect, constants, type ClientHttp2Session } from 'node:http2';
import fc from 'fast-check';
import {
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  FrameType,
  LARGEST_STREAM,
  LARGEST_WINDOW,
  PREFACE,
  Setting,
} from './frames/frame.js';
import { encode, type Peer, SessionServer } from '../test/peer.js';
import type { Http2Request } from './request.js';
import type { Http2Response } from './response.js';

let server: SessionServer;
beforeEach(async () => {
  server = new SessionServer();
  await server.listen();
});
afterEach(() => server.close());

/** Returns the body of the request. */
function bodyOf(request: Http2Request): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    request.on('data', (chunk) => chunks.push(chunk as Uint8Array));
    request.on('end', () => {
      resolve(Buffer.concat(chunks).toString());
    });
    request.on('aborted', () => {
      reject(new Error('aborted'));
    });
  });
}

const echo = async (request: Http2Request, response: Http2Response): Promise<void> => {
  const body = await bodyOf(request).catch(() => undefined);
  if (body !== undefined) response.end(body);
};

/** Installs a handler that does not respond, and returns the request and response that it gets. */
function held(): { readonly got: Promise<[Http2Request, Http2Response]> } {
  const got = new Promise<[Http2Request, Http2Response]>((resolve) => {
    server.handle = (request, response) => {
      resolve([request, response]);
    };
  });
  return { got };
}

/** Connects a client with the largest windows that does not read the response to its request. */
async function unread(): Promise<{ readonly peer: Peer; readonly response: Http2Response }> {
  const { got } = held();
  const peer = await server.peer([[Setting.initialWindowSize, LARGEST_WINDOW]]);
  peer.window(0, LARGEST_WINDOW - 65_535);
  peer.request(1);
  const [, response] = await got;
  peer.pause();
  return { peer, response };
}

const closed = (response: Http2Response): Promise<void> =>
  new Promise((resolve) => {
    if (response.destroyed) resolve();
    else response.on('close', resolve);
  });

describe('requests and responses', () => {
  test('transfers head and body both ways', async () => {
    let seen: unknown;
    server.handle = async (request, response) => {
      const body = await bodyOf(request);
      const { method, url, headers, rawHeaders, complete } = request;
      seen = { method, url, headers: { ...headers }, rawHeaders, complete, body };
      response.statusCode = 201;
      response.setHeader('X-Some', 'thing');
      response.setHeader('Warning', ['one', 'two']);
      response.end('made');
    };
    const peer = await server.peer();
    const fields = [
      [':authority', 'a.example'],
      ['content-length', '7'],
      ['accept', 'a'],
      ['accept', 'b'],
      ['user-agent', 'first'],
      ['user-agent', 'second'],
      ['cookie', 'c=1'],
      ['cookie', 'd=2'],
    ] as const;
    peer.request(1, { method: 'POST', path: '/x?y=z', end: false, fields });
    peer.data(1, 'abc');
    peer.data(1, 'defg', true);
    const { head, body } = await peer.answer(1);
    expect(head).toEqual({
      ':status': '201',
      'x-some': 'thing',
      warning: 'two',
      date: 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
    expect(body).toBe('made');
    expect(seen).toEqual({
      method: 'POST',
      url: '/x?y=z',
      headers: {
        host: 'a.example',
        'content-length': '7',
        accept: 'a, b',
        'user-agent': 'first',
        cookie: 'c=1; d=2',
      },
      rawHeaders: fields.slice(1).flat(),
      complete: true,
      body: 'abcdefg',
    });
  });

  test.each([
    ['HEAD', 200],
    ['GET', 304],
    ['DELETE', 204],
  ])('%s with %i has no body', async (method, status) => {
    server.handle = (_request, response) => {
      response.writeHead(status);
      expect(response.write('some')).toBe(true);
      response.end('more');
    };
    const peer = await server.peer();
    peer.request(1, { method });
    expect((await peer.answer(1)).body).toBe('');
  });

  test('100 Continue comes before the response', async () => {
    server.handle = (_request, response) => {
      response.writeContinue();
      response.end('ok');
    };
    const peer = await server.peer();
    peer.request(1);
    const first = await peer.next(FrameType.headers);
    expect(peer.head(first)).toEqual({ ':status': '100' });
    expect((await peer.answer(1)).body).toBe('ok');
  });

  test('trailers end a request', async () => {
    server.handle = echo;
    const peer = await server.peer();
    peer.request(1, { method: 'POST', end: false });
    peer.data(1, 'body');
    peer.send(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, encode([['x-checksum', '1']]));
    expect((await peer.answer(1)).body).toBe('body');
  });

  test('accepts a head in parts, with padding and priority', async () => {
    server.handle = (request, response) => {
      response.end(request.url);
    };
    const peer = await server.peer();
    const block = encode([
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/parts'],
    ]);
    const first = Buffer.concat([Buffer.of(3, 0, 0, 0, 0, 7), block.subarray(0, 4), Buffer.alloc(3)]);
    peer.send(FrameType.headers, Flag.padded | Flag.priority | Flag.endStream, 1, first);
    peer.send(FrameType.continuation, 0, 1, block.subarray(4, 6));
    peer.send(FrameType.continuation, Flag.endHeaders, 1, block.subarray(6));
    expect((await peer.answer(1)).body).toBe('/parts');
  });

  test('a response before the end of the body stops the rest of the body', async () => {
    const peer = await server.peer();
    peer.request(1, { method: 'POST', end: false });
    expect((await peer.answer(1)).body).toBe('ok');
    await peer.ping();
    server.clock.advance(2000);
    expect(await peer.resetCode(1)).toBe(ErrorCode.noError);
  });

  test('a response before the end of a large body stops the body when the window is full', async () => {
    const peer = await server.peer();
    peer.request(1, { method: 'POST', end: false });
    expect((await peer.answer(1)).body).toBe('ok');
    for (let left = DEFAULT_WINDOW; left > 0; left -= 16_000) peer.data(1, Buffer.alloc(Math.min(left, 16_000)));
    expect(await peer.resetCode(1)).toBe(ErrorCode.noError);
  });

  test('after an early response the body ends as usual, and is still checked', async () => {
    const peer = await server.peer();
    peer.request(1, { method: 'POST', end: false, fields: [['content-length', '3']] });
    peer.request(3, { method: 'POST', end: false, fields: [['content-length', '3']] });
    await peer.answer(1);
    await peer.answer(3);
    peer.data(1, 'abc', true);
    peer.data(3, 'abcd', true);
    expect(await peer.resetCode(3)).toBe(ErrorCode.protocolError);
    server.clock.advance(2000);
    await peer.ping();
    expect(peer.frames.some(({ type, stream }) => type === FrameType.rstStream && stream === 1)).toBe(false);
  });

  test('too many early responses stop the body of the first request', async () => {
    const peer = await server.peer();
    for (let stream = 1; stream < 23; stream += 2) {
      peer.request(stream, { method: 'POST', end: false });
      await peer.answer(stream);
    }
    expect(await peer.resetCode(1)).toBe(ErrorCode.noError);
    await peer.ping();
    expect(peer.frames.filter(({ type }) => type === FrameType.rstStream)).toHaveLength(1);
  });

  test('an unread body does not use up the window of the connection', async () => {
    const peer = await server.peer();
    for (let stream = 1; stream < 41; stream += 2) {
      peer.request(stream, { method: 'POST', end: false });
      for (let i = 0; i < 4; i++) peer.data(stream, Buffer.alloc(16_000));
      await peer.answer(stream);
    }
    await peer.ping();
    expect(server.failures).toEqual([]);
  });

  test('sends many responses in one turn', async () => {
    server.handle = (request, response) => {
      response.end(request.url);
    };
    const peer = await server.peer();
    const streams = Array.from({ length: 10 }, (_, i) => i * 2 + 1);
    for (const stream of streams) peer.request(stream, { path: `/${stream}` });
    for (const stream of streams) expect((await peer.answer(stream)).body).toBe(`/${stream}`);
  });
});

describe('flow control', () => {
  test('data beyond the windows waits for them to grow', async () => {
    const peer = await server.peer([[Setting.initialWindowSize, 10]]);
    server.handle = (_request, response) => {
      expect(response.write('0123456789')).toBe(true);
      expect(response.write('abcde')).toBe(false);
      response.end('fgh');
    };
    peer.request(1);
    expect((await peer.next(FrameType.data)).payload.toString()).toBe('0123456789');
    await peer.ping();
    peer.window(1, 2);
    expect((await peer.next(FrameType.data)).payload.toString()).toBe('ab');
    peer.settings([[Setting.initialWindowSize, 100]]);
    expect((await peer.answer(1)).body).toBe('cdefgh');
  });

  test('data beyond the window starts immediately, even if nothing else is in flight', async () => {
    const peer = await server.peer([[Setting.initialWindowSize, 10]]);
    const { got } = held();
    peer.request(1);
    const [, response] = await got;
    response.flushHeaders();
    await peer.next(FrameType.headers);
    await peer.ping();
    expect(response.write('0123456789abc')).toBe(false);
    expect((await peer.next(FrameType.data)).payload.toString()).toBe('0123456789');
    peer.window(1, 100);
    response.end();
    expect((await peer.next(FrameType.data)).payload.toString()).toBe('abc');
  });

  test('the writer gets a drain event when it may continue', async () => {
    const peer = await server.peer([[Setting.initialWindowSize, 1]]);
    server.handle = (_request, response) => {
      response.write('ab');
      response.on('drain', () => response.end('c'));
    };
    peer.request(1);
    expect((await peer.next(FrameType.data)).payload.toString()).toBe('a');
    peer.window(1, 2);
    expect((await peer.answer(1)).body).toBe('bc');
  });

  test('streams share the window of the connection', async () => {
    const peer = await server.peer([[Setting.initialWindowSize, 1 << 20]]);
    server.handle = (_request, response) => {
      response.end(Buffer.alloc(60_000));
    };
    peer.request(1);
    peer.request(3);
    expect((await peer.answer(1)).body.length).toBe(60_000);
    await peer.ping();
    const some = peer.frames.filter((frame) => frame.stream === 3 && frame.type === FrameType.data);
    expect(some.reduce((sum, frame) => sum + frame.payload.length, 0)).toBe(5535);
    peer.window(0, 60_000);
    expect((await peer.answer(3)).body.length).toBe(60_000);
  });

  test('a client that does not read blocks its own streams, but no other connection', async () => {
    const slow = await server.peer([[Setting.initialWindowSize, LARGEST_WINDOW]]);
    slow.window(0, LARGEST_WINDOW - 65_535);
    slow.pause();
    const part = Buffer.alloc(64 * 1024);
    let parts = 0;
    const stopped = new Promise<void>((resolve) => {
      server.handle = (_request, response) => {
        const more = (): void => {
          while (parts < 600) {
            parts++;
            if (!response.write(part)) {
              resolve();
              return;
            }
          }
          response.end();
        };
        response.on('drain', more);
        more();
      };
    });
    slow.request(1);
    await stopped;
    server.handle = (_request, response) => {
      response.end('ok');
    };
    const other = await server.peer();
    other.request(1);
    expect((await other.answer(1)).body).toBe('ok');
    expect(parts).toBeLessThan(400);
    slow.resume();
    expect((await slow.answer(1)).body.length).toBe(600 * part.length);
  });

  test('an unread body is bounded by the window', async () => {
    const { got } = held();
    const peer = await server.peer();
    peer.request(1, { method: 'POST', end: false });
    const [request] = await got;
    for (let i = 0; i < 4; i++) peer.data(1, Buffer.alloc(16_000));
    await peer.ping();
    expect(peer.frames.filter((frame) => frame.type === FrameType.windowUpdate && frame.stream === 1)).toEqual([]);
    const body = bodyOf(request);
    await peer.next(FrameType.windowUpdate, (frame) => frame.stream === 1);
    peer.data(1, 'end', true);
    expect((await body).length).toBe(64_003);
  });

  test('data beyond the receive window ends the stream', async () => {
    held();
    const peer = await server.peer();
    peer.request(1, { method: 'POST', end: false });
    for (let i = 0; i < 5; i++) peer.data(1, Buffer.alloc(16_000));
    expect(await peer.resetCode(1)).toBe(ErrorCode.flowControlError);
  });
});

describe('an error of a stream ends that stream only', () => {
  const wrongHeads: [string, readonly (readonly [string, string])[]][] = [
    ['an unknown pseudo-header', [[':unknown', 'x']]],
    ['a pseudo-header of answers', [[':status', '200']]],
    ['a pseudo-header twice', [[':path', '/']]],
    [
      'a pseudo-header after others',
      [
        ['accept', 'x'],
        [':authority', 'y'],
      ],
    ],
    ['a name in upper case', [['Accept', 'x']]],
    ['a field of connections', [['connection', 'close']]],
    ['te', [['te', 'gzip']]],
    ['a length that is none', [['content-length', 'x']]],
    ['a length without a body', [['content-length', '5']]],
    ['a line break', [['accept', 'a\rb']]],
  ];
  test.each(wrongHeads)('%s', async (_name, fields) => {
    const peer = await server.peer();
    const usual = [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/'],
    ] as const;
    // The encoder writes no line breaks.
    const block = Buffer.from(
      encode([...usual, ...fields])
        .toString('latin1')
        .replace('a b', 'a\rb'),
      'latin1',
    );
    peer.send(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, block);
    expect(await peer.resetCode(1)).toBe(ErrorCode.protocolError);
    peer.request(3);
    expect((await peer.answer(3)).body).toBe('ok');
  });

  test.each([':method', ':scheme', ':path'])('no %s', async (missing) => {
    const peer = await server.peer();
    const usual = [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/'],
    ] as const;
    peer.send(
      FrameType.headers,
      Flag.endHeaders | Flag.endStream,
      1,
      encode(usual.filter(([name]) => name !== missing)),
    );
    expect(await peer.resetCode(1)).toBe(ErrorCode.protocolError);
  });

  test.each([
    ['more', 'abcdef', false],
    ['less', 'abc', true],
  ])('%s than the announced length', async (_name, body, end) => {
    server.handle = echo;
    const peer = await server.peer();
    peer.request(1, { method: 'POST', end: false, fields: [['content-length', '5']] });
    peer.data(1, body, end);
    expect(await peer.resetCode(1)).toBe(ErrorCode.protocolError);
  });

  test('a window increment of zero, and one that is too large', async () => {
    held();
    const peer = await server.peer();
    peer.request(1);
    peer.request(3);
    peer.window(1, 0);
    peer.window(3, LARGEST_WINDOW);
    expect([await peer.resetCode(1), await peer.resetCode(3)]).toEqual([
      ErrorCode.protocolError,
      ErrorCode.flowControlError,
    ]);
  });

  test('data after the end', async () => {
    held();
    const peer = await server.peer();
    peer.request(1);
    peer.data(1, 'x');
    expect(await peer.resetCode(1)).toBe(ErrorCode.streamClosed);
  });

  test('more concurrent streams than allowed', async () => {
    held();
    const peer = await server.peer();
    for (let i = 0; i < 11; i++) peer.request(2 * i + 1);
    expect(await peer.resetCode(21)).toBe(ErrorCode.refusedStream);
    peer.reset(1);
    peer.request(23);
    await peer.ping();
    expect(peer.frames.filter((frame) => frame.type === FrameType.rstStream)).toHaveLength(1);
  });

  test('a head that is too large gets 431', async () => {
    const peer = await server.peer();
    peer.request(1, { fields: Array.from({ length: 10 }, (_, i) => [`x-${i}`, 'y'.repeat(1500)] as const) });
    expect((await peer.answer(1)).body).toBe('ok');
    const pieces = Array.from({ length: 500 }, () => ['x', ''] as const);
    peer.request(3, { fields: pieces });
    peer.request(5, { fields: [...pieces, ...pieces] });
    expect((await peer.answer(3)).body).toBe('ok');
    const { head, body } = await peer.answer(5);
    expect([head[':status'], body]).toEqual(['431', '<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>']);
    peer.request(7);
    expect((await peer.answer(7)).body).toBe('ok');
  });
});

describe('an error of a connection ends it', () => {
  const uint32 = (value: number): Buffer => {
    const out = Buffer.alloc(4);
    out.writeUInt32BE(value);
    return out;
  };
  const wrong: [string, ErrorCode, (peer: Peer) => void][] = [
    ['DATA of an idle stream', ErrorCode.protocolError, (peer) => peer.data(1, 'x')],
    ['DATA on stream 0', ErrorCode.protocolError, (peer) => peer.data(0, 'x')],
    ['HEADERS of an even stream', ErrorCode.protocolError, (peer) => peer.request(2)],
    ['RST_STREAM of an idle stream', ErrorCode.protocolError, (peer) => peer.reset(1)],
    ['RST_STREAM of a wrong size', ErrorCode.frameSizeError, (peer) => peer.send(FrameType.rstStream, 0, 1)],
    ['WINDOW_UPDATE of an idle stream', ErrorCode.protocolError, (peer) => peer.window(1, 1)],
    ['WINDOW_UPDATE with an increment of 0', ErrorCode.protocolError, (peer) => peer.window(0, 0)],
    ['a window that grows too large', ErrorCode.flowControlError, (peer) => peer.window(0, LARGEST_WINDOW)],
    ['WINDOW_UPDATE of a wrong size', ErrorCode.frameSizeError, (peer) => peer.send(FrameType.windowUpdate, 0, 0)],
    ['PUSH_PROMISE', ErrorCode.protocolError, (peer) => peer.send(FrameType.pushPromise, 0, 1, uint32(2))],
    ['PING on a nonzero stream', ErrorCode.protocolError, (peer) => peer.send(FrameType.ping, 0, 1, Buffer.alloc(8))],
    ['PING of a wrong size', ErrorCode.frameSizeError, (peer) => peer.send(FrameType.ping, 0, 0)],
    ['PRIORITY on stream 0', ErrorCode.protocolError, (peer) => peer.send(FrameType.priority, 0, 0, Buffer.alloc(5))],
    ['SETTINGS on a nonzero stream', ErrorCode.protocolError, (peer) => peer.send(FrameType.settings, 0, 1)],
    ['SETTINGS of a wrong size', ErrorCode.frameSizeError, (peer) => peer.send(FrameType.settings, 0, 0, uint32(1))],
    ['an ACK with settings', ErrorCode.frameSizeError, (peer) => peer.send(FrameType.settings, 1, 0, Buffer.alloc(6))],
    ['a push setting of 2', ErrorCode.protocolError, (peer) => peer.settings([[Setting.enablePush, 2]])],
    [
      'a window setting of 2³¹',
      ErrorCode.flowControlError,
      (peer) => peer.settings([[Setting.initialWindowSize, 2 ** 31]]),
    ],
    ['a frame size below 16 KiB', ErrorCode.protocolError, (peer) => peer.settings([[Setting.maxFrameSize, 100]])],
    ['a frame that is too large', ErrorCode.frameSizeError, (peer) => peer.data(1, Buffer.alloc(16_385))],
    [
      'GOAWAY on a nonzero stream',
      ErrorCode.protocolError,
      (peer) => peer.send(FrameType.goaway, 0, 1, Buffer.alloc(8)),
    ],
    [
      'CONTINUATION without a preceding HEADERS frame',
      ErrorCode.protocolError,
      (peer) => peer.send(FrameType.continuation, 4, 1),
    ],
    [
      'a head that is interrupted',
      ErrorCode.protocolError,
      (peer) => {
        peer.send(FrameType.headers, 0, 1);
        peer.send(FrameType.ping, 0, 0, Buffer.alloc(8));
      },
    ],
    ['a head that cannot be decoded', ErrorCode.compressionError, (peer) => peer.send(1, 5, 1, Buffer.of(0x80))],
    ['padding that is longer than its frame', ErrorCode.protocolError, (peer) => peer.send(1, 13, 1, Buffer.of(9, 0))],
    [
      'a head that does not end',
      ErrorCode.enhanceYourCalm,
      (peer) => {
        peer.send(FrameType.headers, 0, 1);
        for (let i = 0; i < 40; i++) peer.send(FrameType.continuation, 0, 1);
      },
    ],
    [
      'a stream that is opened again',
      ErrorCode.streamClosed,
      (peer) => {
        peer.request(3);
        peer.request(1);
      },
    ],
  ];
  test.each(wrong)('%s: %i', async (_name, code, send) => {
    const other = await server.peer();
    const peer = await server.peer();
    send(peer);
    expect((await peer.goaway()).code).toBe(code);
    await peer.closed;
    expect(server.failures.map(([failure]) => failure)).toEqual([code]);
    other.request(1);
    expect((await other.answer(1)).body).toBe('ok');
  });

  test('no preface', async () => {
    const peer = server.stranger();
    peer.raw(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
    expect((await peer.goaway()).code).toBe(ErrorCode.protocolError);
    await peer.closed;
  });

  test('no SETTINGS after the preface', async () => {
    const peer = server.stranger();
    peer.raw(PREFACE);
    peer.window(0, 1);
    expect((await peer.goaway()).code).toBe(ErrorCode.protocolError);
  });

  test('a preface byte by byte is accepted', async () => {
    const peer = server.stranger();
    for (const byte of PREFACE) {
      peer.raw(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    peer.settings([]);
    peer.request(1);
    expect((await peer.answer(1)).body).toBe('ok');
  });

  test('requests that are reset while their handlers run', async () => {
    server.handle = () => new Promise(() => undefined);
    const peer = await server.peer();
    for (let i = 0; i < 40; i++) {
      peer.request(2 * i + 1);
      peer.reset(2 * i + 1);
    }
    await peer.ping();
    peer.request(81);
    expect((await peer.goaway()).code).toBe(ErrorCode.enhanceYourCalm);
  });

  test('a client that does not read the responses to its pings', async () => {
    const peer = await server.peer();
    peer.pause();
    const pings = Buffer.concat(
      Array.from({ length: 4000 }, () => Buffer.concat([Buffer.from('000008060000000000', 'hex'), Buffer.alloc(8)])),
    );
    const timer = setInterval(() => {
      for (let i = 0; i < 20; i++) peer.raw(pings);
    }, 5);
    await server.sessions.at(-1)?.closed;
    clearInterval(timer);
    expect(server.failures.map(([code]) => code)).toEqual([ErrorCode.enhanceYourCalm]);
  });
});

describe('closing', () => {
  test('a reset by the client notifies the handler', async () => {
    const { got } = held();
    const peer = await server.peer();
    peer.request(1, { method: 'POST', end: false });
    const [request, response] = await got;
    const aborted = expect(bodyOf(request)).rejects.toThrow('aborted');
    peer.reset(1);
    await aborted;
    await closed(response);
    expect(response.write('x')).toBe(true);
    response.end();
    await peer.ping();
    expect(peer.frames.some((frame) => frame.stream === 1)).toBe(false);
  });

  test('the end of the connection notifies all handlers', async () => {
    const responses: Http2Response[] = [];
    server.handle = (_request, response) => {
      responses.push(response);
    };
    const peer = await server.peer();
    peer.request(1);
    peer.request(3);
    await peer.ping();
    peer.close();
    await Promise.all(responses.map(closed));
    expect(responses).toHaveLength(2);
  });

  test('a response is closed after it is written, not while its handler runs', async () => {
    const { got } = held();
    const peer = await server.peer();
    peer.request(1);
    const [, response] = await got;
    response.end('x');
    expect(response.destroyed).toBe(false);
    await closed(response);
    expect((await peer.answer(1)).body).toBe('x');
  });

  test('a handler aborts its response', async () => {
    server.handle = (_request, response) => {
      response.write('x');
      response.destroy();
    };
    const peer = await server.peer();
    peer.request(1);
    expect(await peer.resetCode(1)).toBe(ErrorCode.cancel);
  });

  test('shutdown serves requests sent shortly after the client acknowledges it, and no later ones', async () => {
    const responses: Http2Response[] = [];
    server.handle = (_request, response) => {
      responses.push(response);
    };
    const peer = await server.peer();
    peer.request(1);
    await peer.ping();
    server.sessions.at(-1)?.shutdown();
    server.clock.advance(100);
    expect(await peer.goaway()).toEqual({ last: LARGEST_STREAM, code: ErrorCode.noError });
    const notice = await peer.next(FrameType.ping);
    peer.request(3);
    peer.send(FrameType.ping, Flag.ack, 0, notice.payload);
    await peer.ping();
    server.clock.advance(199);
    peer.send(FrameType.ping, Flag.ack, 0, notice.payload);
    peer.request(5);
    await peer.ping();
    server.clock.advance(1);
    expect(await peer.goaway()).toEqual({ last: 5, code: ErrorCode.noError });
    peer.request(7, { method: 'POST', end: false });
    peer.data(7, 'too late');
    peer.window(7, 10);
    peer.reset(7);
    await peer.ping();
    expect(responses).toHaveLength(3);
    for (const response of responses) response.end('late');
    for (const id of [1, 3, 5]) expect((await peer.answer(id)).body).toBe('late');
    await peer.closed;
  });

  test('shutdown is announced when the client waits for responses', async () => {
    server.handle = () => undefined;
    const peer = await server.peer();
    server.sessions.at(-1)?.shutdown();
    server.clock.advance(50);
    for (const id of [1, 3]) {
      peer.request(id);
      await peer.ping();
      server.clock.advance(1);
      await peer.ping();
    }
    expect(peer.hasGoaway).toBe(false);
    server.clock.advance(1);
    expect(await peer.goaway()).toEqual({ last: LARGEST_STREAM, code: ErrorCode.noError });
  });

  test('a client that never pauses does not delay the announcement of the shutdown', async () => {
    server.handle = (_request, response) => {
      response.end();
    };
    const peer = await server.peer();
    server.sessions.at(-1)?.shutdown();
    for (let i = 0; i < 100; i++) {
      expect(peer.hasGoaway).toBe(false);
      peer.request(2 * i + 1);
      await peer.ping();
      server.clock.advance(1);
      await peer.ping();
    }
    expect(await peer.goaway()).toEqual({ last: LARGEST_STREAM, code: ErrorCode.noError });
  });

  test('immediate shutdown names the last stream', async () => {
    const { got } = held();
    const peer = await server.peer();
    peer.request(1);
    const [, response] = await got;
    server.sessions.at(-1)?.shutdownAtOnce();
    expect(await peer.goaway()).toEqual({ last: 1, code: ErrorCode.noError });
    response.end('x');
    expect((await peer.answer(1)).body).toBe('x');
    await peer.closed;
  });

  test('data written before the connection ends is not cut off', async () => {
    const { peer, response } = await unread();
    const part = Buffer.alloc(64 * 1024);
    let parts = 1;
    while (response.write(part)) {
      parts++;
      if (parts % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    server.sessions.at(-1)?.shutdownAtOnce();
    response.end('the end');
    server.clock.advance(25_000);
    peer.resume();
    expect((await peer.answer(1)).body.length).toBe(parts * part.length + 7);
    await peer.closed;
  });

  test('shutdown does not wait for a client that never reads', async () => {
    const { peer, response } = await unread();
    while (response.write(Buffer.alloc(64 * 1024))) await new Promise((resolve) => setImmediate(resolve));
    peer.reset(1);
    await closed(response);
    server.sessions.at(-1)?.shutdownAtOnce();
    server.clock.advance(30_000);
    await server.sessions.at(-1)?.closed;
  });

  test('shutdown does not wait for a client that does not acknowledge it', async () => {
    const peer = await server.peer();
    server.sessions.at(-1)?.shutdown();
    server.clock.advance(100);
    await peer.goaway();
    server.clock.advance(1000);
    expect(await peer.goaway()).toEqual({ last: 0, code: ErrorCode.noError });
    await peer.closed;
  });

  test('a connection without streams is closed after the idle timeout', async () => {
    const peer = await server.peer();
    const { got } = held();
    peer.request(1);
    const [, response] = await got;
    server.clock.advance(200_000);
    response.end('x');
    await peer.answer(1);
    await closed(response);
    server.clock.advance(89_000);
    await peer.ping();
    expect(peer.hasGoaway).toBe(false);
    server.clock.advance(1000);
    expect(await peer.goaway()).toEqual({ last: LARGEST_STREAM, code: ErrorCode.noError });
  });

  test('a client that sends nothing is disconnected', async () => {
    const peer = server.stranger();
    await peer.next(FrameType.settings);
    server.clock.advance(10_000);
    await peer.closed;
  });
});

describe('with the client of Node', () => {
  let client: ClientHttp2Session;
  beforeEach(() => {
    client = connect(`http://127.0.0.1:${server.port}`);
  });
  afterEach(() => {
    client.destroy();
  });

  function send(
    body: Buffer,
    headers: Record<string, string> = {},
  ): Promise<{ head: Record<string, unknown>; body: Buffer }> {
    return new Promise((resolve, reject) => {
      const stream = client.request({ ':method': 'POST', ':path': '/', ...headers });
      const chunks: Buffer[] = [];
      let head: Record<string, unknown> = {};
      stream.on('response', (fields) => (head = fields));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        resolve({ head, body: Buffer.concat(chunks) });
      });
      stream.on('error', reject);
      stream.end(body);
    });
  }

  test('concurrent bodies of any size come back unchanged', async () => {
    server.handle = (request, response) => {
      request.on('data', (chunk) => {
        if (response.write(chunk as Uint8Array)) return;
        request.pause();
        response.once('drain', () => request.resume());
      });
      request.on('end', () => response.end());
    };
    const size = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 300_000 }));
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 8 }), async (sizes) => {
        const bodies = sizes.map((length, i) => Buffer.alloc(length, `${i}${length}`));
        const answers = await Promise.all(bodies.map((body) => send(body)));
        expect(answers.map(({ body }, i) => body.equals(bodies[i] as Buffer))).toEqual(bodies.map(() => true));
      }),
      { numRuns: 40 },
    );
  });

  test('parts of any size form one body, regardless of the frames', async () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 40_000 })), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(sizes, { maxLength: 5 }), async (writes) => {
        const parts = writes.map((lengths, i) => lengths.map((length, j) => Buffer.alloc(length, `${i}${j}`)));
        server.handle = async (_request, response) => {
          for (const write of parts) {
            if (!response.writeParts(write)) await new Promise<void>((resolve) => response.once('drain', resolve));
          }
          response.end();
        };
        const { body } = await send(Buffer.from('x'));
        expect(body.equals(Buffer.concat(parts.flat()))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test('sends the head of a response in several frames', async () => {
    server.handle = (_request, response) => {
      for (let i = 0; i < 30; i++) response.setHeader(`x-${i}`, String(i).repeat(500));
      response.end('x');
    };
    const { head } = await send(Buffer.from('x'));
    expect([head['x-7'], head['x-29']]).toEqual(['7'.repeat(500), '29'.repeat(500)]);
  });

  test.each([100, 5000, 12_000, 40_000])('heads of %i bytes in one turn do not mix', async (bytes) => {
    server.handle = (request, response) => {
      response.setHeader('x-own', String(request.headers['x-letter']).repeat(bytes));
      response.end('x');
    };
    const letters = ['a', 'b', 'c', 'd'];
    const answers = await Promise.all(letters.map((letter) => send(Buffer.from('x'), { 'x-letter': letter })));
    expect(answers.map(({ head }) => head['x-own'])).toEqual(letters.map((letter) => letter.repeat(bytes)));
  });

  test('the client understands GOAWAY', async () => {
    await send(Buffer.from('x'));
    const goaway = new Promise((resolve) => client.on('goaway', resolve));
    const ended = new Promise((resolve) => client.on('close', resolve));
    server.sessions.at(-1)?.shutdown();
    server.clock.advance(100);
    expect(await goaway).toBe(constants.NGHTTP2_NO_ERROR);
    await ended;
  });
});
