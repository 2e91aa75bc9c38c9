import { BSON, type Document } from 'mongodb';

/** One message of MongoDB's wire protocol (OP_MSG): a command, and the documents that it is about. */
export interface Message {
  /** The command as BSON. Its last field is a 64-bit integer, in whose place `number` is put. */
  readonly body: Uint8Array;
  readonly number: number;
  /** The command's argument that the documents are, each of them BSON. */
  readonly argument?: string;
  readonly documents?: readonly Uint8Array[];
  /** MongoDB does not answer it. */
  readonly unanswered?: boolean;
}

export interface Reply {
  /** The number of the message that is answered. */
  readonly to: number;
  readonly document: Document;
}

const OP_MSG = 2013;
const HEADER_BYTES = 16;
const FLAGS_BYTES = 4;
const MORE_TO_COME = 1 << 1;
const BODY = 0;
const SEQUENCE = 1;
/** Where the number is in a body: before the NUL that ends it. */
const NUMBER_FROM_END = 9;
const TWO_TO_32 = 2 ** 32;

/** The messages in one piece; they are numbered from `first` on. */
export function encodeMessages(messages: readonly Message[], first: number): Buffer {
  const sizes = messages.map(sizeOf);
  const piece = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  messages.forEach((message, i) => {
    const size = sizes[i] ?? 0;
    write(message, first + i, piece.subarray(at, at + size));
    at += size;
  });
  return piece;
}

function sizeOf({ body, argument, documents = [] }: Message): number {
  let size = HEADER_BYTES + FLAGS_BYTES + 1 + body.length;
  if (argument !== undefined) size += 1 + sequenceBytes(argument, documents);
  return size;
}

/** Its length and its name stand before the documents. */
function sequenceBytes(argument: string, documents: readonly Uint8Array[]): number {
  return documents.reduce((sum, document) => sum + document.length, 4 + argument.length + 1);
}

function write({ body, number, argument, documents = [], unanswered }: Message, id: number, into: Buffer): void {
  into.writeInt32LE(into.length, 0);
  into.writeInt32LE(id, 4);
  into.writeInt32LE(0, 8);
  into.writeInt32LE(OP_MSG, 12);
  into.writeUInt32LE(unanswered === true ? MORE_TO_COME : 0, HEADER_BYTES);
  let at = into.writeUInt8(BODY, HEADER_BYTES + FLAGS_BYTES);
  into.set(body, at);
  at += body.length;
  into.writeUInt32LE(number % TWO_TO_32, at - NUMBER_FROM_END);
  into.writeInt32LE(Math.floor(number / TWO_TO_32), at - NUMBER_FROM_END + 4);
  if (argument === undefined) return;
  at = into.writeUInt8(SEQUENCE, at);
  at = into.writeInt32LE(sequenceBytes(argument, documents), at);
  at += into.write(`${argument}\0`, at, 'latin1');
  for (const document of documents) {
    into.set(document, at);
    at += document.length;
  }
}

/** Puts together what comes in. */
export class Replies {
  private rest: Buffer | undefined;

  /** The replies that are whole with this. */
  take(chunk: Buffer): Reply[] {
    let bytes = this.rest === undefined ? chunk : Buffer.concat([this.rest, chunk]);
    const replies: Reply[] = [];
    while (bytes.length >= HEADER_BYTES) {
      const size = bytes.readInt32LE(0);
      if (bytes.length < size) break;
      replies.push(decodeReply(bytes.subarray(0, size)));
      bytes = bytes.subarray(size);
    }
    this.rest = bytes.length === 0 ? undefined : bytes;
    return replies;
  }
}

function decodeReply(message: Buffer): Reply {
  const body = HEADER_BYTES + FLAGS_BYTES + 1;
  if (message.length <= body || message.readInt32LE(12) !== OP_MSG || message[body - 1] !== BODY) {
    throw new Error('the reply is in a form that nobody asked for');
  }
  return { to: message.readInt32LE(8), document: BSON.deserialize(message.subarray(body)) };
}
