import { Agent, request } from 'node:https';
import { readBounded } from '../../util/files/read-bounded.js';

const TIMEOUT_MILLIS = 30_000;
const MAX_BYTES = 1024 * 1024;

/** Fetches documents of identity providers. Anything but a 200 from the very address is an Error. */
export interface ProviderClient {
  get(url: string, bearer: string | undefined, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** Over TLS with the CAs given, or the host's. Redirects are not followed: they would lead to who knows whom. */
export class HttpsProviderClient implements ProviderClient {
  private readonly agent: Agent;

  constructor(ca: string | undefined) {
    this.agent = new Agent({ keepAlive: true, maxSockets: 16, ...(ca !== undefined && { ca }) });
  }

  get(url: string, bearer: string | undefined, signal: AbortSignal): Promise<string> {
    const both = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MILLIS)]);
    return new Promise((resolve, reject) => {
      const failed = (why: string): void => {
        reject(new Error(`Get ${JSON.stringify(url)}: ${why}`));
      };
      if (!URL.canParse(url) || new URL(url).protocol !== 'https:') {
        failed('not an https URL');
        return;
      }
      const headers = {
        accept: 'application/json, */*',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      };
      const sent = request(url, { agent: this.agent, headers, signal: both }, (response) => {
        if (response.statusCode !== 200) {
          response.resume();
          failed(`${response.statusCode ?? 0} ${response.statusMessage ?? ''}`.trim());
          return;
        }
        readBounded(response, MAX_BYTES).then(
          (bytes) => {
            resolve(bytes.toString('utf8'));
          },
          (error: unknown) => {
            failed(error instanceof Error ? error.message : 'broken off');
          },
        );
      });
      sent.on('error', (error) => {
        failed(both.aborted && !signal.aborted ? 'timed out' : error.message);
      });
      sent.end();
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
