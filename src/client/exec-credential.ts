import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { isAbsolute, join, normalize, sep } from 'node:path';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  objectsOf,
  stringAt,
  stringsOf,
} from '../apimachinery/json/json.js';
import type { Clock } from '../util/clock.js';
import type { CredentialSource } from './webhook/connections.js';
import { untilAborted } from '../util/cancellation.js';

const GROUP = 'client.authentication.k8s.io';
const EXTENSION = `${GROUP}/exec`;
const VERSIONS = ['v1', 'v1beta1'];
const MODES = ['Never', 'IfAvailable', 'Always'];
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** A plugin that runs without a user answers soon; one that asks a user may take longer. */
const TIMEOUT_MILLIS = 60_000;
const INTERACTIVE_TIMEOUT_MILLIS = 10 * 60_000;

/** A plugin that is configured incorrectly, or that returned no credentials. The message contains no credentials. */
class ExecCredentialError extends Error {
  override readonly name = 'ExecCredentialError';
}

/** The validated `exec` entry of a user. */
export interface ExecConfig {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly apiVersion: string;
  readonly interactiveMode: string;
  readonly provideClusterInfo: boolean;
  readonly installHint: string;
}

/** The output of a plugin; it has a token, a certificate, or both. */
export interface ExecCredentials {
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
  /** Milliseconds since the epoch; undefined if valid until rejected. */
  readonly expires?: number;
}

/** Checks the `exec` entry of the user `name`. Relative commands are relative to `directory`. Throws ExecCredentialError. */
export function readExecConfig(entry: JsonObject, name: string, directory: string): ExecConfig {
  const must = (what: string): ExecCredentialError =>
    new ExecCredentialError(`${what} must be specified for ${name} to use exec authentication plugin`);
  const command = stringAt(entry, 'command') ?? '';
  const apiVersion = stringAt(entry, 'apiVersion') ?? '';
  if (command === '') throw must('command');
  if (apiVersion === '') throw must('apiVersion');
  if (!VERSIONS.some((version) => apiVersion === `${GROUP}/${version}`)) {
    throw new ExecCredentialError(`exec plugin: invalid apiVersion ${JSON.stringify(apiVersion)}`);
  }
  const env = objectsOf(entry['env']).map((item) => ({
    name: stringAt(item, 'name') ?? '',
    value: stringAt(item, 'value') ?? '',
  }));
  if (env.some((item) => item.name === '')) throw must('env variable name');
  const given = stringAt(entry, 'interactiveMode') ?? '';
  // Optional only in v1beta1.
  const interactiveMode = given === '' && apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : given;
  if (interactiveMode === '') throw must('interactiveMode');
  if (!MODES.includes(interactiveMode)) {
    throw new ExecCredentialError(`invalid interactiveMode for ${name}: ${JSON.stringify(interactiveMode)}`);
  }
  return {
    command: resolveCommand(command, directory),
    args: stringsOf(entry['args']),
    env,
    apiVersion,
    interactiveMode,
    provideClusterInfo: entry['provideClusterInfo'] === true,
    installHint: stringAt(entry, 'installHint') ?? '',
  };
}

/** A bare name is looked up in PATH. */
function resolveCommand(command: string, directory: string): string {
  if (isAbsolute(command) || !command.includes(sep)) return command;
  return normalize(join(directory, command));
}

/** Returns the cluster information for a plugin; `ca` is the text of its CA, wherever it came from. */
export function clusterInfo(cluster: JsonObject, ca: string | undefined): JsonObject {
  const extension = objectsOf(cluster['extensions']).find((item) => item['name'] === EXTENSION)?.['extension'];
  const optional = (key: string): JsonObject => {
    const value = cluster[key];
    return value === undefined || value === null || value === '' || value === false ? {} : { [key]: value };
  };
  return {
    server: stringAt(cluster, 'server') ?? '',
    ...optional('tls-server-name'),
    ...optional('insecure-skip-tls-verify'),
    ...(ca !== undefined && { 'certificate-authority-data': Buffer.from(ca, 'utf8').toString('base64') }),
    ...optional('proxy-url'),
    ...optional('disable-compression'),
    config: extension ?? null,
  };
}

export interface ExecCredentialOptions {
  readonly config: ExecConfig;
  /** The result of `clusterInfo`, passed on if the configuration asks for it. */
  readonly cluster: JsonObject;
  readonly clock: Clock;
  /** True if a user can answer on standard input. */
  readonly stdinIsTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The credentials of a plugin, cached until they expire or are rejected. Concurrent callers share one run of the plugin. */
export class ExecCredentialSource implements CredentialSource {
  private cached: ExecCredentials | undefined;
  private running: Promise<ExecCredentials> | undefined;

  constructor(private readonly options: ExecCredentialOptions) {}

  credentials(signal: AbortSignal): Promise<ExecCredentials> {
    const { cached } = this;
    if (cached !== undefined && (cached.expires === undefined || this.options.clock.now() <= cached.expires)) {
      return Promise.resolve(cached);
    }
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
    const canceled = (): Error => new ExecCredentialError('canceled while the exec plugin was running');
    return untilAborted(this.running, signal, canceled);
  }

  rejected(): void {
    this.cached = undefined;
  }

  private async run(): Promise<ExecCredentials> {
    const { config, cluster, environment } = this.options;
    const interactive = this.interactive();
    const info = {
      kind: 'ExecCredential',
      apiVersion: config.apiVersion,
      spec: { ...(config.provideClusterInfo && { cluster }), interactive },
    };
    const env = {
      ...environment,
      ...Object.fromEntries(config.env.map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    };
    const output = await runPlugin(config, env, interactive, this.options.clock);
    this.cached = readExecCredential(output, config.apiVersion);
    return this.cached;
  }

  private interactive(): boolean {
    const { config, stdinIsTerminal } = this.options;
    if (config.interactiveMode === 'Never') return false;
    if (config.interactiveMode === 'IfAvailable' || stdinIsTerminal) return stdinIsTerminal;
    throw new ExecCredentialError('exec plugin cannot support interactive mode: standard input is not a terminal');
  }
}

function runPlugin(
  { command, args, installHint }: ExecConfig,
  env: Readonly<Record<string, string | undefined>>,
  interactive: boolean,
  clock: Clock,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      timer.cancel();
      reject(new ExecCredentialError(why));
    };
    const child = spawn(command, args, {
      env: { ...env },
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    });
    const timer = clock.setTimer(interactive ? INTERACTIVE_TIMEOUT_MILLIS : TIMEOUT_MILLIS, () => {
      child.kill();
    });
    const chunks: Buffer[] = [];
    let length = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_OUTPUT_BYTES) chunks.push(chunk);
      else child.kill();
    });
    child.on('error', (error) => {
      const missing = 'code' in error && error.code === 'ENOENT';
      const hint = installHint === '' ? '' : `\n\n${installHint}`;
      fail(missing ? `exec: executable ${command} not found${hint}` : `exec: ${error.message}`);
    });
    child.on('close', (code, killedBy) => {
      if (length > MAX_OUTPUT_BYTES) fail(`exec: executable ${command} printed more than ${MAX_OUTPUT_BYTES} bytes`);
      else if (killedBy !== null) fail(`exec: executable ${command} was killed by ${killedBy}`);
      else if (code !== 0) fail(`exec: executable ${command} failed with exit code ${code ?? 0}`);
      else {
        timer.cancel();
        resolve(Buffer.concat(chunks).toString('utf8'));
      }
    });
  });
}

/** Parses the output of a plugin. Throws ExecCredentialError. */
export function readExecCredential(output: string, apiVersion: string): ExecCredentials {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    throw new ExecCredentialError('decoding stdout: not JSON');
  }
  const printed = isObject(value as JsonValue) ? (value as JsonObject) : {};
  if (printed['kind'] !== 'ExecCredential') throw new ExecCredentialError('decoding stdout: not an ExecCredential');
  const version = stringAt(printed, 'apiVersion') ?? '';
  if (version !== apiVersion) {
    throw new ExecCredentialError(
      `exec plugin is configured to use API version ${apiVersion}, plugin returned version ${version}`,
    );
  }
  const status = objectAt(printed, 'status');
  if (status === undefined) throw new ExecCredentialError("exec plugin didn't return a status field");
  const token = stringAt(status, 'token') ?? '';
  const certificate = stringAt(status, 'clientCertificateData') ?? '';
  const key = stringAt(status, 'clientKeyData') ?? '';
  if (token === '' && certificate === '' && key === '') {
    throw new ExecCredentialError("exec plugin didn't return a token or cert/key pair");
  }
  if ((certificate === '') !== (key === '')) {
    throw new ExecCredentialError('exec plugin returned only certificate or key, not both');
  }
  if (certificate !== '') checkCertificate(certificate);
  const expires = expiryOf(status);
  return {
    ...(token !== '' && { token }),
    ...(certificate !== '' && { certificate, key }),
    ...(expires !== undefined && { expires }),
  };
}

function checkCertificate(pem: string): void {
  try {
    new X509Certificate(pem);
  } catch {
    throw new ExecCredentialError('failed parsing client key/certificate: not a certificate');
  }
}

function expiryOf(status: JsonObject): number | undefined {
  const text = status['expirationTimestamp'];
  if (text === undefined || text === null) return undefined;
  const at = typeof text === 'string' ? Date.parse(text) : NaN;
  if (Number.isNaN(at)) throw new ExecCredentialError('decoding stdout: expirationTimestamp is not a time');
  return at;
}
