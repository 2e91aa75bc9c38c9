import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import type { JsonObject } from '../apimachinery/json/json.js';
import { toYaml } from '../apimachinery/yaml/yaml.js';
import { collect } from './collect.js';
import { redactedAddress } from '../util/text/redacted-address.js';

export interface KubeconfigOptions {
  readonly server: string;
  readonly certificateAuthority?: string;
  readonly user: string;
  readonly namespace?: string;
  readonly token?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly execCommand?: string;
  readonly execArg?: readonly string[];
  readonly execEnv?: readonly string[];
  readonly execInteractiveMode: string;
  readonly output?: string;
}

const MODES = ['Never', 'IfAvailable', 'Always'];

/** Builds a kubeconfig for one user of one server. `read` returns the bytes of a file. Throws an Error for options that do not fit together. */
export function makeKubeconfig(options: KubeconfigOptions, read: (path: string) => Buffer): string {
  const { server, certificateAuthority: ca, namespace, user } = options;
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:')
    throw new Error(`--server: ${redactedAddress(server)} is not an https address`);
  const data = (path: string): string => read(path).toString('base64');
  return toYaml({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'annex',
    clusters: [
      { name: 'annex', cluster: { server, ...(ca !== undefined && { 'certificate-authority-data': data(ca) }) } },
    ],
    contexts: [{ name: 'annex', context: { cluster: 'annex', user, ...(namespace !== undefined && { namespace }) } }],
    users: [{ name: user, user: credentials(options, data) }],
  });
}

function credentials(options: KubeconfigOptions, data: (path: string) => string): JsonObject {
  const { token, clientCertificate, clientKey, execCommand } = options;
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    throw new Error('--client-certificate and --client-key must be given together');
  }
  const ways = [token, clientCertificate, execCommand].filter((way) => way !== undefined);
  if (ways.length !== 1)
    throw new Error('specify one of --token, --client-certificate with --client-key, and --exec-command');
  if (token !== undefined) return { token };
  if (clientCertificate !== undefined && clientKey !== undefined) {
    return { 'client-certificate-data': data(clientCertificate), 'client-key-data': data(clientKey) };
  }
  if (!MODES.includes(options.execInteractiveMode))
    throw new Error(`--exec-interactive-mode must be one of ${MODES.join(', ')}`);
  return {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      ...(execCommand !== undefined && { command: execCommand }),
      args: [...(options.execArg ?? [])],
      env: (options.execEnv ?? []).map(variable),
      interactiveMode: options.execInteractiveMode,
      provideClusterInfo: false,
    },
  };
}

function variable(pair: string): { name: string; value: string } {
  const at = pair.indexOf('=');
  if (at <= 0) throw new Error(`--exec-env: ${pair} is not name=value`);
  return { name: pair.slice(0, at), value: pair.slice(at + 1) };
}

/** `annex kubeconfig`: writes a kubeconfig. */
export function kubeconfigCommand(): Command {
  return new Command('kubeconfig')
    .description('Writes a kubeconfig for a user with a token, a certificate or a credential plugin.')
    .requiredOption('--server <url>', 'URL of the server; must be https.')
    .option('--certificate-authority <file>', "PEM file of the server's CA.")
    .option('--user <name>', 'Name of the user within the kubeconfig.', 'user')
    .option('--namespace <name>', 'Default namespace.')
    .option('--token <token>', 'Token of the user.')
    .option('--client-certificate <file>', 'PEM file of the certificate of the user.')
    .option('--client-key <file>', 'PEM file of the key of that certificate.')
    .option('--exec-command <command>', 'Command of the credential plugin, for example `annex`.')
    .option('--exec-arg <argument>', 'Argument of the plugin. May be given several times.', collect)
    .option('--exec-env <name=value>', 'Environment variable of the plugin. May be given several times.', collect)
    .option(
      '--exec-interactive-mode <mode>',
      `Whether the plugin may prompt the user: ${MODES.join(', ')}.`,
      'IfAvailable',
    )
    .option('--output <file>', 'File to write, accessible only to its owner. Defaults to standard output.')
    .helpOption('-h, --help', 'Shows this help.')
    .action((options: KubeconfigOptions) => {
      const text = makeKubeconfig(options, (path) => readFileSync(path));
      if (options.output === undefined) process.stdout.write(text);
      else writeFileSync(options.output, text, { mode: 0o600 });
    });
}
