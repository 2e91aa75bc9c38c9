import type { Clock } from '../util/clock.js';
import { clusterInfo, ExecCredentialSource, readExecConfig } from './exec-credential.js';
import type { CredentialSource } from './webhook/connections.js';
import type { RemoteConfig } from './webhook/kubeconfig.js';

/** Runs the credential plugin of a kubeconfig's user; undefined: there is none, or what stands in the file goes before it. */
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
