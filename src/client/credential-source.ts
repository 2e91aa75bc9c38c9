import type { Clock } from '../util/clock.js';
import { clusterInfo, ExecCredentialSource, readExecConfig } from './exec-credential.js';
import type { CredentialSource } from './webhook/connections.js';
import type { RemoteConfig } from './webhook/kubeconfig.js';

/**
 * Returns a source that runs the credential plugin of a kubeconfig's user; undefined if there is no plugin, or if other credentials in the
 * file take precedence.
 */
export function credentialSource(remote: RemoteConfig, clock: Clock): CredentialSource | undefined {
  const { exec, token, tokenFile, basic, certificate, ca } = remote;
  if (exec === undefined) return undefined;
  if (token !== undefined || tokenFile !== undefined || basic !== undefined || certificate !== undefined)
    return undefined;
  return new ExecCredentialSource({
    config: readExecConfig(exec.user, 'the user', exec.directory),
    cluster: clusterInfo(exec.cluster, ca),
    clock,
    stdinIsTerminal: process.stdin.isTTY,
    environment: process.env,
  });
}
