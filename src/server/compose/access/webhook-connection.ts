import { readFile } from 'node:fs/promises';
import { credentialSource } from '../../../client/credential-source.js';
import { loadKubeconfig, type ServerRule } from '../../../client/webhook/kubeconfig.js';
import { HttpsTransport } from '../../../client/webhook/transport.js';
import type { Clock } from '../../../util/clock.js';

const readText = (path: string): Promise<string> => readFile(path, 'utf8');

/** The service of a kubeconfig file, whose user may have a credential plugin. Throws an Error where the file cannot be used. */
export async function connectWebhook(path: string, clock: Clock, rule: ServerRule): Promise<HttpsTransport> {
  const remote = await loadKubeconfig(path, readText, rule);
  const source = credentialSource(remote, clock);
  return new HttpsTransport(source === undefined ? { ...remote, exec: undefined } : remote, readText, source);
}
