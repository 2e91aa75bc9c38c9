import { readFile } from 'node:fs/promises';
import { clusterInfo, ExecCredentialSource, readExecConfig } from '../client/exec-credential.js';
import { loadKubeconfig, type RemoteConfig } from '../client/webhook/kubeconfig.js';
import { HttpsTransport } from '../client/webhook/transport.js';
import type { Clock } from '../util/clock.js';

const readText = (path: string): Promise<string> => readFile(path, 'utf8');

/** The service of a kubeconfig file, whose user may have a credential plugin. Throws an Error where the file cannot be used. */
export async function connectWebhook(path: string, clock: Clock): Promise<HttpsTransport> {
  const remote = await loadKubeconfig(path, readText);
  // Credentials that stand in the file go before a plugin.
  if (hasCredentials(remote)) return new HttpsTransport({ ...remote, exec: undefined }, readText, undefined);
  const { exec } = remote;
  if (exec === undefined) return new HttpsTransport(remote, readText, undefined);
  const source = new ExecCredentialSource({
    config: readExecConfig(exec.user, 'the user', exec.directory),
    cluster: clusterInfo(exec.cluster, remote.ca),
    clock,
    stdinIsTerminal: process.stdin.isTTY,
    environment: process.env,
  });
  return new HttpsTransport(remote, readText, source);
}

const hasCredentials = ({ token, tokenFile, basic, certificate }: RemoteConfig): boolean =>
  token !== undefined || tokenFile !== undefined || basic !== undefined || certificate !== undefined;
