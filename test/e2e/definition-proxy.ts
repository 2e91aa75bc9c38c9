import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'node:https';
import { type Address, digList, digText, treeOf } from '../integration/client.js';
import { pause } from '../storage/mongod.js';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const RDS = '/apis/kubeannex.io/v1/resourcedefinitions';
/** The time limit for a group version to be served through the aggregator. */
const SERVED_MILLIS = 5_000;

/** Words for a CustomResourceDefinition, each with the one for a ResourceDefinition. A text may contain only the first form. */
const WORDS: readonly (readonly [crd: string, rd: string])[] = [
  ['customresourcedefinitions.apiextensions.k8s.io', 'resourcedefinitions.kubeannex.io'],
  ['CustomResourceDefinition.apiextensions.k8s.io', 'ResourceDefinition.kubeannex.io'],
  ['apiextensions.k8s.io/v1', 'kubeannex.io/v1'],
  ['"group":"apiextensions.k8s.io"', '"group":"kubeannex.io"'],
  ['CustomResourceDefinition', 'ResourceDefinition'],
  ['customresourcedefinitions', 'resourcedefinitions'],
];

const toOurs = (text: string): string => WORDS.reduce((done, [crd, rd]) => done.replaceAll(crd, rd), text);
/** Does not match a word that is the end of a longer one, such as the result of an earlier replacement. */
const THEIRS = WORDS.map(
  ([crd, rd]) => [new RegExp(`(?<!Custom|custom)${rd.replaceAll('.', '\\.')}`, 'g'), crd] as const,
);
/** `kubectl wait` needs a list: a new ResourceDefinition has an empty one where a new CustomResourceDefinition has null. */
const withNull = (text: string): string => text.replace('"status":{"conditions":[],', '"status":{"conditions":null,');
const toTheirs = (text: string): string => withNull(THEIRS.reduce((done, [rd, crd]) => done.replaceAll(rd, crd), text));

/**
 * Lets programs that use CustomResourceDefinitions only declare types to Annex: their requests for those become requests for
 * ResourceDefinitions. A definition is answered when its versions are served through the aggregator.
 */
export class DefinitionProxy {
  private readonly agent: Agent;
  private readonly server: Server;

  private constructor(
    private readonly target: Address,
    private readonly token: string,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: 256, ca: target.ca });
    this.server = createServer((incoming, outgoing) => {
      const url = incoming.url ?? '/';
      const call = url.startsWith(CRDS) ? this.translated(incoming, url) : this.passed(incoming, url);
      call.then(
        (answer) => {
          const { statusCode = 502, rawHeaders } = answer.response;
          const headers = answer.text === undefined ? rawHeaders : withoutLength(rawHeaders);
          outgoing.writeHead(statusCode, headers);
          // A watch gets its headers at once, even if no event follows.
          outgoing.flushHeaders();
          if (answer.text === undefined) answer.response.pipe(outgoing);
          else outgoing.end(answer.text);
        },
        () => outgoing.destroy(),
      );
    });
  }

  static async listen(target: Address, token: string): Promise<DefinitionProxy> {
    const proxy = new DefinitionProxy(target, token);
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    this.agent.destroy();
  }

  private async passed(incoming: IncomingMessage, path: string): Promise<Translated> {
    return { response: await this.call(incoming.method ?? 'GET', path, incoming.rawHeaders, await bytesOf(incoming)) };
  }

  private async translated(incoming: IncomingMessage, path: string): Promise<Translated> {
    const body = toOurs((await bytesOf(incoming)).toString('utf8'));
    const headers = withoutLength(incoming.rawHeaders, ['accept-encoding', 'content-length']);
    const method = incoming.method ?? 'GET';
    const response = await this.call(method, path.replace(CRDS, RDS), headers, Buffer.from(body));
    if (path.includes('watch=')) return { response };
    const text = (await bytesOf(response)).toString('utf8');
    if (method !== 'GET' && method !== 'DELETE' && !path.includes('dryRun') && (response.statusCode ?? 500) < 300)
      await this.served(text);
    return { response, text: toTheirs(text) };
  }

  private async served(text: string): Promise<void> {
    let definition: ReturnType<typeof treeOf>;
    try {
      definition = treeOf({ text });
    } catch {
      return;
    }
    const group = digText(definition, 'spec', 'group');
    const plural = digText(definition, 'spec', 'names', 'plural');
    const versions = digList(definition, 'spec', 'versions').filter(
      (one) => (one as { served?: boolean }).served === true,
    );
    const end = performance.now() + SERVED_MILLIS;
    for (const version of versions) {
      const path = `/apis/${group}/${digText(version, 'name')}/${plural}?limit=1`;
      while (performance.now() < end) {
        const answer = await this.call('GET', path, ['authorization', `Bearer ${this.token}`], Buffer.alloc(0));
        answer.resume();
        if (answer.statusCode === 200) break;
        await pause(50);
      }
    }
  }

  private call(method: string, path: string, headers: string[], body: Buffer): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = body.length === 0 ? [] : ['content-length', String(body.length)];
      const sent = [
        ...withoutLength(headers, ['host', 'content-length', 'connection', 'transfer-encoding']),
        ...length,
      ];
      const host = ['host', new URL(this.target.url).host];
      const { hostname, port } = new URL(this.target.url);
      // The path is passed on unchanged. A URL object would normalize it.
      const options = { hostname, port, path, method, agent: this.agent, headers: [...host, ...sent] };
      const call = request(options, resolve);
      call.on('error', reject);
      call.end(body);
    });
  }
}

interface Translated {
  readonly response: IncomingMessage;
  /** Replaces the text of the response. */
  readonly text?: string;
}

function withoutLength(
  raw: readonly string[],
  names: readonly string[] = ['content-length', 'transfer-encoding'],
): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    if (!names.includes(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
