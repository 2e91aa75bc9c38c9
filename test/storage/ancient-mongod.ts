import { createServer, type Server } from 'node:net';
import { BSON } from 'mongodb';

const HEADER = 16;
const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;

/** Starts a server that answers every command as the primary of a replica set of an old version. */
export async function ancientMongod(maxWireVersion: number): Promise<{ readonly uri: string; close(): void }> {
  const server: Server = createServer((socket) => {
    let input = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      input = Buffer.concat([input, data]);
      while (input.length >= HEADER && input.length >= input.readInt32LE(0)) {
        const length = input.readInt32LE(0);
        socket.write(reply(input.readInt32LE(4), input.readInt32LE(12), port(server), maxWireVersion));
        input = input.subarray(length);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    uri: `mongodb://127.0.0.1:${port(server)}/?replicaSet=rs0`,
    close: () => void server.close(),
  };
}

function port(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function reply(request: number, opcode: number, port: number, maxWireVersion: number): Buffer {
  const me = `127.0.0.1:${port}`;
  const hello = BSON.serialize({
    ...{ ok: 1, ismaster: true, isWritablePrimary: true, setName: 'rs0', hosts: [me], me, primary: me },
    ...{ minWireVersion: 0, maxWireVersion, maxBsonObjectSize: 16_777_216, maxMessageSizeBytes: 48_000_000 },
    ...{ maxWriteBatchSize: 100_000, logicalSessionTimeoutMinutes: 30, readOnly: false },
  });
  // OP_REPLY: flags, no cursor, and one document from position 0. OP_MSG: flags and a section with the document.
  const before =
    opcode === OP_QUERY ? Buffer.from([8, 0, 0, 0, ...new Array<number>(12).fill(0), 1, 0, 0, 0]) : Buffer.alloc(5);
  const header = Buffer.alloc(HEADER);
  header.writeInt32LE(HEADER + before.length + hello.length, 0);
  header.writeInt32LE(request, 8);
  header.writeInt32LE(opcode === OP_QUERY ? OP_REPLY : OP_MSG, 12);
  return Buffer.concat([header, before, hello]);
}
