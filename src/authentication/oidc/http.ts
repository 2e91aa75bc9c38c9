import type { Agent, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { agentFor, type Egress, hostEgress, plainRequest } from '../../client/egress/egress.js';
import { messageOf } from '../../util/error-message.js';
import { readBounded } from '../../util/files/read-bounded.js';

const TIMEOUT_MILLIS = 30_000;
const MAX_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 10;
const MAX_SOCKETS = 16;
const MAX_AGENTS = 16;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Fetches documents from identity providers. Any final status other than 200 is an Error. */
export interface ProviderClient {
  get(url: string, bearer: string | undefined, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** The body of a response, or the location it redirects to. */
type Answer = { readonly text: string } | { readonly location: string };

/** Trusts the given CAs, or those of the host. Follows redirects as Go's http.Client does. */
export class HttpsProviderClient implements ProviderClient {
  /** Agents, keyed by the proxy that they connect through; '' for direct connections. */
  private readonly agents = new Map<string, Agent>();

  constructor(
    private readonly ca: string | undefined,
    private readonly egress: Egress = hostEgress(),
  ) {}

  async get(address: string, bearer: string | undefined, signal: AbortSignal): Promise<string> {
    const both = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MILLIS)]);
    const at = { url: address };
    try {
      return await this.follow(at, bearer, both);
    } catch (error) {
      const why = both.aborted && !signal.aborted ? 'timed out' : messageOf(error);
      throw new Error(`Get ${JSON.stringify(at.url)}: ${why}`);
    }
  }

  close(): void {
    for (const agent of this.agents.values()) agent.destroy();
    this.agents.clear();
  }

  /** Sends the request and follows redirects. Updates `at.url` on each redirect, so that errors name the latest URL. */
  private async follow(at: { url: string }, bearer: string | undefined, signal: AbortSignal): Promise<string> {
    if (!URL.canParse(at.url) || new URL(at.url).protocol !== 'https:') throw new Error('not an https URL');
    const first = new URL(at.url);
    let url = first;
    let mayTell = true;
    for (let redirects = 0; ;) {
      const answer = await this.send(url, mayTell ? bearer : undefined, signal);
      if ('text' in answer) return answer.text;
      if (!URL.canParse(answer.location, url.href)) {
        throw new Error(`failed to parse Location header ${JSON.stringify(answer.location)}`);
      }
      url = new URL(answer.location, url);
      at.url = url.href;
      // Once a redirect has left the host, credentials are never sent again.
      mayTell &&= url.protocol === 'https:' && isBelow(url.hostname, first.hostname);
      if (++redirects >= MAX_REDIRECTS) throw new Error(`stopped after ${String(MAX_REDIRECTS)} redirects`);
    }
  }

  private send(url: URL, bearer: string | undefined, signal: AbortSignal): Promise<Answer> {
    const headers = {
      accept: 'application/json, */*',
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    };
    return new Promise((resolve, reject) => {
      if (url.protocol !== 'https:' && url.protocol !== 'http:') {
        throw new Error(`unsupported protocol scheme ${JSON.stringify(url.protocol.slice(0, -1))}`);
      }
      const answered = (response: IncomingMessage): void => {
        const { statusCode = 0, statusMessage = '' } = response;
        const { location } = response.headers;
        if (REDIRECTS.has(statusCode) && location !== undefined) {
          response.resume();
          resolve({ location });
        } else if (statusCode === 200) {
          readBounded(response, MAX_BYTES).then((bytes) => resolve({ text: bytes.toString('utf8') }), reject);
        } else {
          response.resume();
          reject(new Error(`${String(statusCode)} ${statusMessage}`.trim()));
        }
      };
      const sent =
        url.protocol === 'https:'
          ? request(url, { agent: this.agent(url), headers, signal }, answered)
          : plainRequest(url, { headers, signal }, this.egress.proxyFor(url), this.egress, answered);
      sent.on('error', reject);
      sent.end();
    });
  }

  private agent(url: URL): Agent {
    const proxy = this.egress.proxyFor(url);
    // With a SOCKS proxy each host has its own connections; there are few such hosts.
    const key = proxy === undefined ? '' : `${proxy.href} ${proxy.protocol.startsWith('socks') ? url.host : ''}`;
    let agent = this.agents.get(key);
    if (agent === undefined) {
      const options = { keepAlive: true, maxSockets: MAX_SOCKETS, ...(this.ca !== undefined && { ca: this.ca }) };
      agent = agentFor(url, options, proxy, this.egress);
      this.agents.set(key, agent);
      for (const [oldest, other] of this.agents) {
        if (this.agents.size <= MAX_AGENTS) break;
        this.agents.delete(oldest);
        other.destroy();
      }
    }
    return agent;
  }
}

const isBelow = (host: string, first: string): boolean => host === first || host.endsWith(`.${first}`);
