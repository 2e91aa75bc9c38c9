import { credentialSource } from '../../../client/credential-source.js';
import { loadKubeconfig, type ServerRule } from '../../../client/webhook/kubeconfig.js';
import { HttpsTransport } from '../../../client/webhook/transport.js';
import { formatGoDuration } from '../../../go/duration.js';
import type { Clock } from '../../../util/clock.js';
import { readText } from '../../../util/files/read-text.js';

/**
 * Returns a transport to the server of a kubeconfig file, whose user may have an exec credential plugin. The `timeout` query
 * parameter reports how long the transport waits. Throws an Error if the file cannot be used.
 */
export async function connectWebhook(
  path: string,
  clock: Clock,
  rule: ServerRule,
  timeoutMillis: number,
): Promise<HttpsTransport> {
  const remote = await loadKubeconfig(path, readText, rule);
  remote.url.searchParams.set('timeout', formatGoDuration(timeoutMillis));
  const source = credentialSource(remote, clock);
  return new HttpsTransport(source === undefined ? { ...remote, exec: undefined } : remote, readText, source);
}
