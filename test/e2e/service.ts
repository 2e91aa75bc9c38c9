import { request } from 'node:https';
import { connect, createServer, type Server, type Socket } from 'node:net';

const PROBE_MILLIS = 500;
const ANSWER_MILLIS = 5_000;

interface Endpoint {
  readonly port: number;
  ready: boolean;
}

/**
 * Plays a Service without pods: accepts connections and forwards each to a ready replica. Established connections stay on their replica, as
 * with kube-proxy.
 */
export class ServicePort {
  private readonly endpoints: Endpoint[];
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly timer: NodeJS.Timeout;
  private next = 0;

  private constructor(ports: readonly number[]) {
    this.endpoints = ports.map((port) => ({ port, ready: false }));
    // A Service does not delay small packets.
    this.server = createServer({ noDelay: true }, (socket) => {
      this.take(socket);
    });
    this.timer = setInterval(() => {
      void this.probe();
    }, PROBE_MILLIS);
  }

  static async listen(port: number, replicas: readonly number[]): Promise<ServicePort> {
    const service = new ServicePort(replicas);
    await new Promise<void>((resolve, reject) => {
      service.server.once('error', reject);
      service.server.listen(port, 'localhost', resolve);
    });
    return service;
  }

  /** The number of ready replicas at the last probe. */
  get ready(): number {
    return this.endpoints.filter(({ ready }) => ready).length;
  }

  /** Probes every replica now. */
  async probe(): Promise<void> {
    await Promise.all(
      this.endpoints.map(async (endpoint) => {
        endpoint.ready = await isReady(endpoint.port);
      }),
    );
  }

  close(): void {
    clearInterval(this.timer);
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private take(socket: Socket): void {
    const ready = this.endpoints.filter((endpoint) => endpoint.ready);
    const endpoint = ready[this.next++ % Math.max(1, ready.length)];
    if (endpoint === undefined) {
      socket.resetAndDestroy();
      return;
    }
    const other = connect({ port: endpoint.port, host: '127.0.0.1', noDelay: true });
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      this.sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }
}

export async function isReady(port: number): Promise<boolean> {
  return (await probe(port, '/readyz')).status === 200;
}

/** Returns `ok`, or the response of /readyz with the reasons of the checks that fail. */
export async function readiness(port: number): Promise<string> {
  const { status, text } = await probe(port, '/readyz');
  if (status === 200) return text;
  const failed = [...text.matchAll(/^\[-\](\S+)/gm)].map(([, name = '']) => name);
  const reasons = failed.map(async (name) => `${name}: ${(await probe(port, `/readyz/${name}`)).text}`);
  return [`${status} ${text}`, ...(await Promise.all(reasons))].join('\n');
}

/** Gets a health endpoint. Without an answer, the status is 0 and the text says why. */
function probe(port: number, path: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve) => {
    const options = { port, host: '127.0.0.1', path, rejectUnauthorized: false, timeout: ANSWER_MILLIS };
    const asked = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${ANSWER_MILLIS} ms`)));
    asked.on('error', ({ message }) => resolve({ status: 0, text: message }));
    asked.end();
  });
}
