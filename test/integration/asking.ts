import type { Answer, Call, Http1 } from './client.js';
import { pause } from '../storage/mongod.js';

/** The number of answers with each status. */
export interface Seen {
  readonly call: Call;
  readonly answers: Map<number, number>;
}

/** Returns undefined if the port refuses connections or the connection broke. */
export async function once(http: Http1, call: Call): Promise<Answer | undefined> {
  try {
    if (!call.path.includes('watch=true')) return await http.send(call);
    const response = await http.open(call);
    const { statusCode: status = 0, headers } = response;
    response.on('error', () => undefined).destroy();
    return { status, headers, text: '' };
  } catch (error) {
    if (/ECONN|socket hang up|EPIPE|aborted/.test(String(error))) return undefined;
    throw error;
  }
}

/**
 * Requests something that exists, from the first moment the port accepts connections, until the answer is right. Every other answer must
 * say that the server is not ready. `group`: a group that must be in discovery lists.
 */
export async function ask(http: Http1, call: Call, group: string, until: () => boolean): Promise<Seen> {
  const answers = new Map<number, number>();
  const isReadyz = call.path === '/readyz';
  while (!until()) {
    const answer = await once(http, call);
    if (answer === undefined) {
      await pause(2);
      continue;
    }
    const { status, headers, text } = answer;
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status === 200) {
      const isList = call.path === '/apis' || call.path === '/openapi/v3';
      if (isList && !text.includes(group)) throw new Error(`${call.path} is incomplete: ${text}`);
      return { call, answers };
    }
    // A default role lets anonymous users read the health checks once the RBAC rules are loaded.
    if (isReadyz && status === 500) continue;
    // Like kube-apiserver, the server answers 429 while the objects of a type are loaded.
    if ((status !== 503 && status !== 429) || headers['retry-after'] === undefined) {
      throw new Error(`${call.method ?? 'GET'} ${call.path}: ${status} ${text}`);
    }
  }
  return { call, answers };
}

export const refusals = (seen: readonly Seen[]): number =>
  seen.reduce((sum, { answers }) => sum + (answers.get(503) ?? 0), 0);
