import { type JsonObject, objectAt } from '../../../src/apimachinery/json/json.js';
import type { KubeObject } from '../../../src/apimachinery/meta/meta.js';
import type { Cluster } from '../../../src/client/lists.js';
import { ClusterError } from '../../../src/client/cluster-error.js';

/** A cluster that answers these paths, whatever the query, and decides access reviews by `may`. */
export function clusterOf(
  answers: Readonly<Record<string, JsonObject>>,
  may: (spec: JsonObject) => boolean,
  reported: (method: string, path: string, body?: JsonObject) => void = () => undefined,
): Cluster {
  const answer = (method: string, path: string, body?: JsonObject): JsonObject | undefined => {
    reported(method, path, body);
    if (method === 'POST') return { status: { allowed: may(objectAt(body, 'spec') ?? {}) } };
    return answers[path.replace(/\?.*/, '')];
  };
  return {
    call: (method, path, given) => {
      const body = answer(method, path, given);
      return Promise.resolve({ status: body === undefined ? 404 : 200, body: body ?? {} });
    },
    must: (method, path, body) => Promise.resolve(answer(method, path, body) as KubeObject | undefined),
    metadata: (path) => {
      const body = answer('GET', path);
      return body === undefined ? Promise.reject(new ClusterError(403, 'forbidden')) : Promise.resolve(body);
    },
  };
}
