import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { type Address, digText, Http1 } from '../integration/client.js';
import { collectionOf, type Manifest } from './published.js';

/** A server's response to an object: 201, or the code and message of the refusal. */
export interface Answer {
  readonly code: number;
  readonly message: string;
  readonly warnings: readonly string[];
}

/** One of the two servers. */
export class Asked {
  private readonly http: Http1;

  constructor(
    server: Address,
    private readonly token: string,
  ) {
    this.http = new Http1(server, 8);
  }

  async send(method: string, path: string, body?: object): Promise<Answer & { readonly tree: JsonObject }> {
    const response = await this.http.open({ method, path, token: this.token, ...(body && { body }) });
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += String(part);
    const tree = text.startsWith('{') ? (JSON.parse(text) as JsonObject) : {};
    const code = response.statusCode ?? 0;
    return {
      code,
      message: code < 400 ? '' : digText(tree, 'message'),
      warnings: (response.headersDistinct['warning'] ?? []).map(textOfWarning),
      tree,
    };
  }

  create(object: Manifest): Promise<Answer> {
    return this.send('POST', collectionOf(object), object);
  }

  /** Creates an object that may exist already. */
  async ensure(object: Manifest): Promise<void> {
    const { code, message } = await this.create(object);
    if (code !== 201 && code !== 409)
      throw new Error(`${object.kind} ${object.metadata.name}: ${String(code)} ${message}`);
  }

  /** Dry-runs the creation of the object with these labels. */
  async rehearse(object: Manifest, labels: JsonObject): Promise<Answer> {
    const metadata = { ...object.metadata, labels: { ...object.metadata.labels, ...labels } };
    const { code, message, warnings } = await this.send('POST', `${collectionOf(object)}?dryRun=All`, {
      ...object,
      metadata,
    });
    return { code, message, warnings };
  }
}

const textOfWarning = (header: string): string =>
  Buffer.from(header, 'latin1')
    .toString()
    .replace(/^299 - "(.*)"$/, '$1')
    .replace(/\\(.)/g, '$1');

/** Returns the results of `ask` for the items, in their order. Eight requests run at once. */
export async function forEach<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await ask(items[at] as T);
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return results;
}
