import fc from 'fast-check';
import { BSON, Long } from 'mongodb';
import { encodeMessages, Replies } from './wire.js';

const body = (command: object): Uint8Array => BSON.serialize({ ...command, txnNumber: Long.ZERO });

/** As MongoDB sees it. */
function decode(message: Buffer): unknown {
  const size = message.readInt32LE(21);
  const command = BSON.deserialize(message.subarray(21, 21 + size), { promoteLongs: false });
  const documents: unknown[] = [];
  let at = 21 + size;
  let name = '';
  if (at < message.length) {
    expect(message[at]).toBe(1);
    expect(message.readInt32LE(at + 1)).toBe(message.length - at - 1);
    const end = message.indexOf(0, at + 5);
    name = message.toString('latin1', at + 5, end);
    for (at = end + 1; at < message.length; at += message.readInt32LE(at))
      documents.push(BSON.deserialize(message.subarray(at, at + message.readInt32LE(at))));
  }
  return { id: message.readInt32LE(4), flags: message.readUInt32LE(16), command, name, documents };
}

function reply(to: number, document: object): Buffer {
  const bytes = BSON.serialize(document);
  const head = Buffer.alloc(21);
  head.writeInt32LE(21 + bytes.length, 0);
  head.writeInt32LE(to, 8);
  head.writeInt32LE(2013, 12);
  return Buffer.concat([head, bytes]);
}

test('messages stand one after the other, with their numbers and documents', () => {
  const documents = [{ _id: 1 }, { _id: 2, text: 'ä' }].map((document) => BSON.serialize(document));
  const piece = encodeMessages(
    [
      { body: body({ insert: 'log' }), number: 2 ** 40 + 5, argument: 'documents', documents, unanswered: true },
      { body: body({ commitTransaction: 1 }), number: 7 },
    ],
    41,
  );
  const first = piece.readInt32LE(0);
  expect(decode(piece.subarray(0, first))).toEqual({
    id: 41,
    flags: 2,
    command: { insert: 'log', txnNumber: Long.fromNumber(2 ** 40 + 5) },
    name: 'documents',
    documents: [{ _id: 1 }, { _id: 2, text: 'ä' }],
  });
  expect(decode(piece.subarray(first))).toEqual({
    id: 42,
    flags: 0,
    command: { commitTransaction: expect.anything() as unknown, txnNumber: Long.fromNumber(7) },
    name: '',
    documents: [],
  });
});

test('replies are put together from whatever pieces they come in', () => {
  const sent = [{ ok: 1 }, { ok: 0, errmsg: 'no', code: 251 }, { ok: 1, n: 3 }];
  const bytes = Buffer.concat(sent.map((document, i) => reply(i + 1, document)));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 8 }), (cuts) => {
      const replies = new Replies();
      const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const got = edges.slice(1).flatMap((edge, i) => replies.take(bytes.subarray(edges[i], edge)));
      expect(got).toEqual(sent.map((document, i) => ({ to: i + 1, document })));
    }),
  );
});

test('a reply in another form is refused', () => {
  const compressed = reply(1, { ok: 1 });
  compressed.writeInt32LE(2012, 12);
  expect(() => new Replies().take(compressed)).toThrow('the reply is in a form that nobody asked for');
});
