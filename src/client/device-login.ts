import type { Agent } from 'node:http';
import { request } from 'node:https';
import { type Clock, sleep } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import { readBounded } from '../util/files/read-bounded.js';
import { agentFor, hostEgress } from './egress/egress.js';

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MILLIS = 30_000;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** The provider refused, or returned something other than tokens. The message contains no tokens. */
export class LoginError extends Error {
  override readonly name = 'LoginError';
}

export interface Tokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
  /** Milliseconds since the epoch, according to the ID token. */
  readonly expires: number;
}

export interface LoginOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** Set for a confidential client. */
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[];
  /** PEM; undefined for the host's CAs. */
  readonly ca: string | undefined;
  readonly clock: Clock;
  /** Shows the user which page to open and which code to enter. */
  readonly prompt: (text: string) => void;
}

type Fields = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly fields: Fields;
}

const text = (fields: Fields, name: string): string => {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
};

/** Logs a user in at an OpenID provider, without a browser on this machine (RFC 8628). */
export class DeviceLogin {
  private agent: Agent | undefined;
  private found: Fields | undefined;

  constructor(private readonly options: LoginOptions) {}

  /** Waits until the user has agreed, refused, or let the code expire. */
  async login(): Promise<Tokens> {
    const { clientId, scopes, clock, prompt } = this.options;
    const endpoint = await this.endpoint('device_authorization_endpoint');
    const asked = await this.post(endpoint, { client_id: clientId, scope: scopes.join(' ') });
    const code = text(asked.fields, 'device_code');
    if (asked.status !== 200 || code === '') throw this.refused('device authorization', asked);
    const complete = text(asked.fields, 'verification_uri_complete');
    prompt(
      complete === ''
        ? `Open ${text(asked.fields, 'verification_uri')} and enter the code ${text(asked.fields, 'user_code')}.`
        : `Open ${complete} and confirm the code ${text(asked.fields, 'user_code')}.`,
    );
    const lifetime = seconds(asked.fields['expires_in'], 600);
    const deadline = clock.monotonic() + lifetime * 1000;
    let interval = seconds(asked.fields['interval'], 5);
    while (clock.monotonic() < deadline) {
      await sleep(clock, interval * 1000);
      const answer = await this.token({ grant_type: DEVICE_GRANT, device_code: code });
      if (answer.status === 200) return readTokens(answer.fields, undefined);
      const problem = text(answer.fields, 'error');
      if (problem === 'slow_down') interval += 5;
      else if (problem !== 'authorization_pending') throw this.refused('log-in', answer);
    }
    throw new LoginError('the code was not confirmed in time');
  }

  /** Exchanges a refresh token for new tokens; returns undefined if the provider no longer accepts it. */
  async refresh(refreshToken: string): Promise<Tokens | undefined> {
    const answer = await this.token({ grant_type: 'refresh_token', refresh_token: refreshToken });
    if (answer.status === 200) return readTokens(answer.fields, refreshToken);
    if (answer.status >= 400 && answer.status < 500) return undefined;
    throw this.refused('refresh', answer);
  }

  close(): void {
    this.agent?.destroy();
  }

  private async token(form: Readonly<Record<string, string>>): Promise<Answer> {
    return this.post(await this.endpoint('token_endpoint'), { client_id: this.options.clientId, ...form });
  }

  private async endpoint(name: string): Promise<string> {
    const { issuer } = this.options;
    if (this.found === undefined) {
      const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
      const answer = await this.send(url, undefined);
      if (answer.status !== 200) throw this.refused('discovery', answer);
      if (answer.fields['issuer'] !== issuer)
        throw new LoginError(`the discovery document has a different issuer than ${issuer}`);
      this.found = answer.fields;
    }
    const endpoint = text(this.found, name);
    if (endpoint === '') throw new LoginError(`the discovery document has no ${name}`);
    return endpoint;
  }

  private post(url: string, form: Readonly<Record<string, string>>): Promise<Answer> {
    const { clientSecret } = this.options;
    const all = clientSecret === undefined ? form : { ...form, client_secret: clientSecret };
    return this.send(url, new URLSearchParams(all).toString());
  }

  private refused(what: string, { status, fields }: Answer): LoginError {
    const why = text(fields, 'error_description') || text(fields, 'error') || `status ${status}`;
    return new LoginError(`${what} failed: ${why}`);
  }

  /** All endpoints of the provider are called through the proxy of the first one. */
  private agentFor(url: URL): Agent {
    const { ca } = this.options;
    const egress = hostEgress();
    return (this.agent ??= agentFor(url, { ...(ca !== undefined && { ca }) }, egress.proxyFor(url), egress));
  }

  private send(url: string, form: string | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const fail = (why: string): void => reject(new LoginError(`${url}: ${why}`));
      if (!URL.canParse(url) || new URL(url).protocol !== 'https:') {
        fail('not an https URL');
        return;
      }
      const sent = request(
        url,
        {
          method: form === undefined ? 'GET' : 'POST',
          agent: this.agentFor(new URL(url)),
          signal: AbortSignal.timeout(TIMEOUT_MILLIS),
          headers: {
            accept: 'application/json',
            ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
          },
        },
        (response) => {
          readBounded(response, MAX_BYTES).then(
            (bytes) => resolve({ status: response.statusCode ?? 0, fields: parse(bytes.toString('utf8')) }),
            (error: unknown) => fail(messageOf(error)),
          );
        },
      );
      sent.on('error', (error) => fail(error.message));
      sent.end(form);
    });
  }
}

function parse(body: string): Fields {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Fields) : {};
  } catch {
    return {};
  }
}

const seconds = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && value > 0 && value < 86_400 ? value : otherwise;

/** A refresh may keep the refresh token. */
function readTokens(fields: Fields, refreshToken: string | undefined): Tokens {
  const idToken = text(fields, 'id_token');
  const claims = parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString('utf8'));
  const expires = claims['exp'];
  if (idToken === '' || typeof expires !== 'number') throw new LoginError('the provider returned no ID token');
  const next = text(fields, 'refresh_token');
  return { idToken, refreshToken: next === '' ? refreshToken : next, expires: expires * 1000 };
}
