import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, stringifyJson } from '../../../src/apimachinery/json/json.js';
import { type StandaloneServer, startStandalone } from '../../../src/server/compose/standalone.js';
import { defaultOptions, type Options } from '../../../src/server/options/options.js';
import { systemClock } from '../../../src/util/clock.js';
import { featureGates } from '../../../src/util/feature-gates.js';
import { silentLogger } from '../../../src/util/logger.js';
import { findMongod, ReplicaSet } from '../../storage/mongod.js';
import { type Answer, digList, digText, Http1, treeOf, WatchReader } from '../client.js';
import { ADMIN, eventually, NOBODY, ROOT, scratchFolder, START_MILLIS } from '../server.js';

export type Store = 'embedded' | 'mongodb';

/** The stores that this machine has. */
export const STORES: readonly Store[] = 'path' in findMongod() ? ['embedded', 'mongodb'] : ['embedded'];

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export const GROUP = 'asking.example.com';

/** The parts of schemas that expressions treat in their own ways. */
const SPEC: JsonObject = {
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  properties: {
    size: { type: 'integer', format: 'int64' },
    ratio: { type: 'number' },
    color: { type: 'string' },
    on: { type: 'boolean' },
    until: { type: 'string', format: 'date-time' },
    lasts: { type: 'string', format: 'duration' },
    memory: { type: 'string' },
    port: { 'x-kubernetes-int-or-string': true },
    maybe: { type: 'string', nullable: true },
    anything: { 'x-kubernetes-preserve-unknown-fields': true },
    namespace: { type: 'string' },
    'dashed-name': { type: 'integer' },
    tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    results: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' }, fail: { type: 'integer' } } },
    },
    counts: { type: 'object', additionalProperties: { type: 'integer' } },
    template: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  },
};

function definition(plural: string, kind: string, versions: readonly string[]): JsonObject {
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: SPEC, status: { type: 'object' } } } };
  return {
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: versions.map((name, i) => ({
        name,
        served: true,
        storage: i === 0,
        schema,
        additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
      })),
    },
  };
}

/** A standalone server within the test, with two custom types and clients. */
export class Stand {
  http!: Http1;
  private server: StandaloneServer | undefined;
  readonly folder = scratchFolder(() => this.server?.stop() ?? Promise.resolve());

  constructor(
    private readonly store: Store,
    private readonly more: Partial<Options> = {},
  ) {
    beforeAll(() => this.start(), START_MILLIS);
  }

  private async start(): Promise<void> {
    const tokenAuthFile = join(this.folder, 'tokens.csv');
    writeFileSync(tokenAuthFile, `${ADMIN},admin,admin,system:masters\n${NOBODY},jane,jane\n`);
    const mongod = findMongod();
    const isMongodb = this.store === 'mongodb' && 'path' in mongod;
    const set = isMongodb ? await ReplicaSet.start(mongod.path) : undefined;
    const options = {
      ...defaultOptions(),
      dataDir: join(this.folder, 'data'),
      bindAddress: '127.0.0.1',
      securePort: 0,
      shutdownDelayDuration: 0,
      tokenAuthFile,
      ...this.more,
      ...(set && { storageBackend: 'mongodb' as const, mongodbUri: set.uri }),
    };
    featureGates.set('WatchList=true');
    this.server = await startStandalone(options, ROOT, systemClock, silentLogger);
    this.http = new Http1({ url: this.server.url, ca: readFileSync(join(options.dataDir, 'ca.crt'), 'utf8') });
    for (const body of [definition('boxes', 'Box', ['v1', 'v2'])]) await this.http.post(DEFINITIONS, body);
    await eventually('the type', async () => (await this.get('boxes')).status === 200 || undefined);
    for (const name of ['n1', 'n1-x', 'n2']) await this.http.post('/api/v1/namespaces', { metadata: { name } });
  }

  async create(namespace: string, name: string, spec: JsonObject, metadata: JsonObject = {}): Promise<JsonObject> {
    const body = { apiVersion: `${GROUP}/v1`, kind: 'Box', metadata: { name, ...metadata }, spec };
    const answer = await this.http.post(`/apis/${GROUP}/v1/namespaces/${namespace}/boxes`, stringifyJson(body));
    if (answer.status !== 201) throw new Error(answer.text);
    return treeOf(answer);
  }

  async change(namespace: string, name: string, spec: JsonObject): Promise<void> {
    const path = `/apis/${GROUP}/v1/namespaces/${namespace}/boxes/${name}`;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const answer = await this.http.send({ method: 'PATCH', path, body: { spec }, headers });
    if (answer.status !== 200) throw new Error(answer.text);
  }

  /** Gets a collection of the group: `boxes`, or `namespaces/n1/boxes`. */
  get(
    collection: string,
    parameters: Readonly<Record<string, string>> = {},
    headers: Readonly<Record<string, string>> = {},
    version = 'v1',
  ): Promise<Answer> {
    const query = new URLSearchParams(parameters).toString();
    return this.http.get(`/apis/${GROUP}/${version}/${collection}?${query}`, headers);
  }

  /** Returns what reads the metrics of the server as they are now. */
  async metrics(): Promise<(series: string) => number> {
    const { text } = await this.http.get('/metrics');
    const lines = new Map(text.split('\n').map((line) => line.split(' ') as [string, string]));
    return (series) => Number(lines.get(series));
  }

  async names(collection: string, parameters: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const answer = await this.get(collection, parameters);
    if (answer.status !== 200) throw new Error(answer.text);
    return namesOf(treeOf(answer));
  }

  async watch(
    collection: string,
    parameters: Readonly<Record<string, string>>,
  ): Promise<WatchReader & { end(): void }> {
    const query = new URLSearchParams({ watch: '1', ...parameters }).toString();
    const response = await this.http.open({ path: `/apis/${GROUP}/v1/${collection}?${query}` });
    const reader = new WatchReader(response);
    return Object.assign(reader, { end: () => void response.destroy(), headers: response.headers });
  }
}

export const namesOf = (list: JsonObject): readonly string[] =>
  digList(list, 'items').map((item) => digText(item, 'metadata', 'name'));

/** Returns type and name of each event. */
export const eventsOf = ({ events }: WatchReader): readonly string[] =>
  events.map((event) => `${digText(event, 'type')} ${digText(event, 'object', 'metadata', 'name')}`);
