import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import {
  decryptRequest,
  decryptResponse,
  encryptRequest,
  encryptResponse,
  statusResponse,
} from '../../../src/storage/encryption/kms/messages.js';

/** A KMS v2 plugin on a Unix socket. It keeps its keys while stopped, and `rotate` adds a new one. */
export class KmsProvider {
  private readonly keys = new Map<string, Buffer>();
  private keyId = '';
  private server: Http2Server | undefined;
  private readonly sessions = new Set<ServerHttp2Session>();
  readonly calls: string[] = [];

  constructor(private readonly socket: string) {
    this.rotate();
  }

  get endpoint(): string {
    return `unix://${this.socket}`;
  }

  rotate(): void {
    this.keyId = `key-${String(this.keys.size + 1)}`;
    this.keys.set(this.keyId, randomBytes(32));
  }

  async start(): Promise<void> {
    const server = createServer();
    this.server = server;
    server.on('session', (session) => {
      this.sessions.add(session);
      session.on('close', () => this.sessions.delete(session));
    });
    server.on('stream', (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('error', () => undefined);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        this.answer(stream, String(headers[':path']), Buffer.concat(chunks).subarray(5));
      });
    });
    await new Promise<void>((resolve) => server.listen(this.socket, resolve));
  }

  async stop(): Promise<void> {
    const { server } = this;
    if (server === undefined) return;
    this.server = undefined;
    for (const session of this.sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
    rmSync(this.socket, { force: true });
  }

  private answer(stream: ServerHttp2Stream, path: string, body: Buffer): void {
    this.calls.push(path);
    let message: Uint8Array | undefined;
    try {
      message = this.handle(path, body);
    } catch {
      // This provider never had the key.
    }
    const status = message === undefined ? '3' : '0';
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'grpc-status': status, 'grpc-message': status === '0' ? '' : 'no%20such%20key' });
    });
    if (message === undefined) {
      stream.end();
      return;
    }
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([head, message]));
  }

  private handle(path: string, body: Buffer): Uint8Array {
    switch (path) {
      case '/v2.KeyManagementService/Status':
        return statusResponse.encode({ version: 'v2', healthz: 'ok', keyId: this.keyId });
      case '/v2.KeyManagementService/Encrypt': {
        const nonce = randomBytes(12);
        const cipher = createCipheriv('aes-256-gcm', this.key(this.keyId), nonce);
        const text = Buffer.concat([cipher.update(encryptRequest.decode(body).plaintext), cipher.final()]);
        const ciphertext = Buffer.concat([nonce, text, cipher.getAuthTag()]);
        const annotations = { 'annex.example.com': Buffer.from('test') };
        return encryptResponse.encode({ ciphertext, keyId: this.keyId, annotations });
      }
      case '/v2.KeyManagementService/Decrypt': {
        const { ciphertext, keyId, annotations } = decryptRequest.decode(body);
        if (Buffer.from(annotations['annex.example.com'] ?? []).toString() !== 'test') throw new Error('annotations');
        const decipher = createDecipheriv('aes-256-gcm', this.key(keyId), ciphertext.subarray(0, 12));
        decipher.setAuthTag(ciphertext.subarray(-16));
        const plaintext = Buffer.concat([decipher.update(ciphertext.subarray(12, -16)), decipher.final()]);
        return decryptResponse.encode({ plaintext });
      }
      default:
        throw new Error(path);
    }
  }

  private key(keyId: string): Buffer {
    const key = this.keys.get(keyId);
    if (key === undefined) throw new Error(keyId);
    return key;
  }
}
