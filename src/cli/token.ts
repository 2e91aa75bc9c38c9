import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { DeviceLogin, LoginError, type Tokens } from '../client/device-login.js';
import { type Clock, foregroundClock } from '../util/clock.js';

const GROUP = 'client.authentication.k8s.io';
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];
/** A token that expires sooner might not reach the server in time. */
const SPARE_MILLIS = 30_000;

export interface TokenOptions {
  readonly oidcIssuerUrl: string;
  readonly oidcClientId: string;
  readonly oidcClientSecret?: string;
  readonly oidcScope: readonly string[];
  readonly oidcCaFile?: string;
  readonly cacheDir: string;
}

/** Describes the client that runs the plugin. */
interface ExecInfo {
  readonly apiVersion: string;
  readonly interactive: boolean;
}

/** Parses KUBERNETES_EXEC_INFO; if it is empty, a user runs the command. Throws LoginError. */
export function readExecInfo(text: string | undefined): ExecInfo {
  if (text === undefined || text === '') return { apiVersion: `${GROUP}/v1`, interactive: true };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new LoginError('KUBERNETES_EXEC_INFO is not JSON');
  }
  const info = (typeof value === 'object' && value !== null ? value : {}) as {
    readonly kind?: unknown;
    readonly apiVersion?: unknown;
    readonly spec?: { readonly interactive?: unknown } | null;
  };
  if (info.kind !== 'ExecCredential' || typeof info.apiVersion !== 'string' || !VERSIONS.includes(info.apiVersion)) {
    throw new LoginError(`KUBERNETES_EXEC_INFO is not an ExecCredential of ${VERSIONS.join(' or ')}`);
  }
  return { apiVersion: info.apiVersion, interactive: info.spec?.interactive === true };
}

/** Tokens of one provider and client, in a file that only its owner may read. */
class TokenFile {
  private readonly path: string;

  constructor(private readonly options: TokenOptions) {
    const { oidcIssuerUrl, oidcClientId, oidcScope } = options;
    const name = createHash('sha256')
      .update(JSON.stringify([oidcIssuerUrl, oidcClientId, ...oidcScope]))
      .digest('hex');
    this.path = join(options.cacheDir, `${name}.json`);
  }

  read(): Tokens | undefined {
    try {
      const value = JSON.parse(readFileSync(this.path, 'utf8')) as Partial<Tokens> | null;
      if (typeof value?.idToken !== 'string' || typeof value.expires !== 'number') return undefined;
      const { idToken, expires, refreshToken } = value;
      return { idToken, expires, refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined };
    } catch {
      // A missing or broken file means that the user is not logged in.
      return undefined;
    }
  }

  write(tokens: Tokens): void {
    mkdirSync(this.options.cacheDir, { recursive: true, mode: 0o700 });
    const temporary = `${this.path}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify(tokens), { mode: 0o600 });
    renameSync(temporary, this.path);
  }
}

export interface TokenContext {
  readonly execInfo: string | undefined;
  readonly clock: Clock;
  readonly prompt: (text: string) => void;
}

/** Returns the ExecCredential that `annex token` prints. Throws LoginError. */
export async function execCredential(options: TokenOptions, context: TokenContext): Promise<string> {
  const { clock, prompt } = context;
  const info = readExecInfo(context.execInfo);
  const file = new TokenFile(options);
  let tokens = file.read();
  if (tokens === undefined || tokens.expires - SPARE_MILLIS <= clock.now()) {
    const login = new DeviceLogin({
      issuer: options.oidcIssuerUrl,
      clientId: options.oidcClientId,
      clientSecret: options.oidcClientSecret,
      scopes: options.oidcScope,
      ca: options.oidcCaFile === undefined ? undefined : readFileSync(options.oidcCaFile, 'utf8'),
      clock,
      prompt,
    });
    try {
      tokens = await renew(login, tokens, info.interactive);
    } finally {
      login.close();
    }
    file.write(tokens);
  }
  const status = {
    expirationTimestamp: new Date(tokens.expires).toISOString().replace('.000Z', 'Z'),
    token: tokens.idToken,
  };
  return JSON.stringify({
    kind: 'ExecCredential',
    apiVersion: info.apiVersion,
    spec: { interactive: info.interactive },
    status,
  });
}

async function renew(login: DeviceLogin, old: Tokens | undefined, interactive: boolean): Promise<Tokens> {
  const refreshed = old?.refreshToken === undefined ? undefined : await login.refresh(old.refreshToken);
  if (refreshed !== undefined) return refreshed;
  if (!interactive)
    throw new LoginError('not logged in, and this is not a terminal: run annex token in a terminal first');
  return login.login();
}

const defaultCache = (): string => {
  const { XDG_CACHE_HOME: base } = process.env;
  return join(base === undefined || base === '' ? join(homedir(), '.cache') : base, 'annex', 'token');
};

/** `annex token`: a credential plugin for kubeconfigs. */
export function tokenCommand(): Command {
  return new Command('token')
    .description(
      'Logs in to an OpenID provider with a device code and prints an ExecCredential. For exec entries in kubeconfigs.',
    )
    .requiredOption('--oidc-issuer-url <url>', 'URL of the provider; must be https.')
    .requiredOption('--oidc-client-id <id>', 'Client ID registered with the provider.')
    .option('--oidc-client-secret <secret>', 'Client secret, unless the client is public.')
    .option('--oidc-scope <scope...>', 'Scopes to request.', ['openid', 'offline_access'])
    .option('--oidc-ca-file <file>', "PEM file of the provider's CAs. Defaults to those of the host.")
    .option('--cache-dir <dir>', 'Directory where tokens are cached.', defaultCache())
    .helpOption('-h, --help', 'Shows this help.')
    .action(async (options: TokenOptions) => {
      const credential = await execCredential(options, {
        execInfo: process.env['KUBERNETES_EXEC_INFO'],
        clock: foregroundClock,
        prompt: (line) => {
          process.stderr.write(`${line}\n`);
        },
      });
      process.stdout.write(`${credential}\n`);
    });
}
