import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { type FuzzAnswer, FuzzClient, type FuzzRequest, type Target } from './client.js';
import { BUILT_IN, CUSTOM, DEFINITIONS, type Kind, NAMES, objectOf, PLAIN, RULES } from './fixtures.js';
import { SHAPES } from './shapes.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const KINDS: readonly Kind[] = [...CUSTOM, ...PLAIN, ...BUILT_IN, ...RULES];

const metadataOf = (answer: FuzzAnswer): Readonly<Record<string, string>> => {
  try {
    return ((JSON.parse(answer.body.toString()) as JsonObject)['metadata'] ?? {}) as Record<string, string>;
  } catch {
    return {};
  }
};

/** A server with known objects, and the values of them that only the server knows. */
export class FuzzSession {
  readonly client: FuzzClient;
  private readonly known = new Map<string, string>();
  private round = 0;

  constructor(
    target: Target,
    private readonly prefix: string,
    ruleYieldPoint?: number,
  ) {
    this.client = new FuzzClient(target, ruleYieldPoint);
  }

  get namespace(): string {
    return `${this.prefix}${this.round}`;
  }

  /** Creates the definitions, once per server. */
  async define(): Promise<void> {
    for (const body of [...DEFINITIONS, SHAPES])
      await this.json('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body);
    for (const path of ['widgets', 'gizmos', 'shapes']) {
      for (let i = 0; i < 200; i++) {
        if ((await this.json('GET', `/apis/fuzz.example.com/v1/${path}`)).status === 200) break;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** Stores objects that are valid under a definition, which is then made stricter. */
  async tighten(loose: JsonObject, strict: JsonObject, path: string, objects: readonly JsonObject[]): Promise<void> {
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const name = (loose['metadata'] as { readonly name: string }).name;
    const replace = async (by: JsonObject): Promise<void> => {
      let answer = await this.json('POST', definitions, by);
      if (answer.status === 409) answer = await this.merge(`${definitions}/${name}`, { spec: by['spec'] ?? null });
      if (answer.status > 299) throw new Error(`the definition was not taken: ${answer.body.toString()}`);
    };
    /** Waits for the given status of a dry-run creation that the two definitions answer differently. */
    const probe = async (status: number): Promise<void> => {
      for (let i = 0; i < 400; i++) {
        const answer = await this.json('POST', `${path}?dryRun=All`, { ...objects[0], spec: {} });
        if (answer.status === status) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`the definition of ${name} has not come into force`);
    };
    await replace(loose);
    await probe(201);
    for (const one of objects) {
      const made = await this.json('POST', path, one);
      if (made.status !== 201) throw new Error(`an object was not taken: ${made.body.toString()}`);
      const { name: own } = metadataOf(made);
      await this.merge(this.fill(`${path}/${own ?? ''}/status`), { status: one['status'] ?? null });
    }
    await replace(strict);
    await probe(422);
  }

  private async merge(path: string, body: JsonObject): Promise<FuzzAnswer> {
    const headers = { 'content-type': 'application/merge-patch+json' };
    return this.client.send({ method: 'PATCH', path, headers, body: JSON.stringify(body) });
  }

  /** Creates all objects from scratch, in a new namespace. */
  async reset(): Promise<void> {
    this.round++;
    await this.json('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: this.namespace },
    });
    this.known.set('start', await this.version());
    for (const kind of KINDS) {
      const { root, plural, namespaced } = kind;
      if (!namespaced) await this.clear(`${root}/${plural}`);
      for (const [i, name] of NAMES.entries()) {
        if (plural === 'events' && root.startsWith('/apis')) continue;
        if (root.endsWith('v1beta1')) continue;
        await this.json(
          'POST',
          this.fill(`${root}${namespaced ? '/namespaces/{ns}' : ''}/${plural}`),
          objectOf(kind, name, i),
        );
        if (plural === 'widgets' && i === 3) this.known.set('mid', await this.version());
      }
    }
    this.known.set('now', await this.version());
    for (const [plural, root] of [
      ['widgets', '/apis/fuzz.example.com/v1'],
      ['configmaps', '/api/v1'],
      ['pods', '/api/v1'],
    ] as const) {
      const answer = await this.json('GET', `${root}/namespaces/${this.namespace}/${plural}?limit=2`);
      this.known.set(`continue:${plural}`, metadataOf(answer)['continue'] ?? '');
    }
  }

  /** Deletes the cluster-scoped objects that have the tests' names. */
  private async clear(path: string): Promise<void> {
    for (const name of [...NAMES, 'new1', 'new2', 'new3']) {
      const answer = await this.json('DELETE', `${path}/${name}?gracePeriodSeconds=0`);
      if (answer.status === 404) continue;
      await this.client.send({
        method: 'PATCH',
        path: `${path}/${name}`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: '{"metadata":{"finalizers":null}}',
      });
    }
  }

  private async version(): Promise<string> {
    return metadataOf(await this.json('GET', '/apis/fuzz.example.com/v1/widgets?limit=1'))['resourceVersion'] ?? '';
  }

  private json(method: string, path: string, body?: JsonObject): Promise<FuzzAnswer> {
    return this.client.send({
      method,
      path: this.fill(path),
      headers: body === undefined ? {} : JSON_TYPE,
      ...(body === undefined ? {} : { body: this.fill(JSON.stringify(body)) }),
    });
  }

  private fill(text: string): string {
    return text
      .replace(/\{ns\}/g, this.namespace)
      .replace(/\{rv:(\w+)\}/g, (_, key: string) => this.known.get(key) ?? '')
      .replace(/\{(continue:\w+)\}/g, (_, key: string) => this.known.get(key) ?? '');
  }

  /** Returns the request with the placeholders filled in for this server. */
  async resolve(one: FuzzRequest): Promise<FuzzRequest> {
    const path = this.fill(one.path);
    if (one.body === undefined) return { ...one, path };
    let body = this.fill(one.body);
    if (/\{(rv|uid)\}/.test(body)) {
      let at = path.replace(/\?.*$/s, '').replace(/\/(status|scale)$/, '');
      if (one.method === 'POST') at += `/${/"name":"([\w-]+)"/.exec(body)?.[1] ?? ''}`;
      const found = metadataOf(await this.json('GET', at));
      body = body.replace(/\{rv\}/g, found['resourceVersion'] ?? '1').replace(/\{uid\}/g, found['uid'] ?? 'none');
    }
    return { ...one, path, body };
  }

  async send(one: FuzzRequest): Promise<FuzzAnswer> {
    return this.client.send(await this.resolve(one));
  }
}
