import { type Agent, request } from 'node:https';
import { treeOf } from '../integration/client.js';
import { ADMIN } from '../integration/server.js';
import type { Pair } from './certificates.js';
import type { TestCluster } from './cluster.js';

export interface Seen {
  readonly status: number;
  readonly message: string;
}

interface Question {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly pair?: Pair | undefined;
  /** An agent to send several requests on one connection. */
  readonly agent?: Agent;
}

/** Sends a request directly to a replica, with any headers and client certificate. */
export function directly({ port, path, headers, pair, agent }: Question): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const options = {
      port,
      host: '127.0.0.1',
      path,
      headers,
      rejectUnauthorized: false,
      agent: agent ?? false,
      ...pair,
    };
    const call = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const message = treeOf({ text })['message'];
        resolve({ status: response.statusCode ?? 0, message: typeof message === 'string' ? message : '' });
      });
    });
    call.on('error', reject);
    call.end();
  });
}

/** Returns the sum of a metric's series with matching labels, from one replica. */
export async function metricOf(cluster: TestCluster, name: string, labels = '', replica = 0): Promise<number> {
  const { text } = await cluster.direct(replica).send({ path: '/metrics', token: ADMIN });
  return [...text.matchAll(new RegExp(`^${name}(?:\\{([^}]*)\\})? (\\d+)$`, 'gm'))]
    .filter(([, has = '']) => has.includes(labels))
    .reduce((sum, [, , n]) => sum + Number(n), 0);
}
