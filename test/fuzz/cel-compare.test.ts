import fc from 'fast-check';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import { dig } from '../integration/client.js';
import { ADMIN, ROOT, scratchFolder, TestServer } from '../integration/server.js';
import { SPEC, rules, specs } from './cel-rules.js';
import { FuzzClient } from './client.js';

/**
 * Writes validation rules shaped by the grammar to Annex and to a kube-apiserver, and compares their responses to every rule, and to every
 * object that the rules evaluate, to the letter. ANNEX_REFERENCE is `url,token,file of its CA`; ANNEX_FUZZ_COUNT is the number of rules,
 * ANNEX_FUZZ_SEED the seed of the first. Differences are listed in .cache/fuzz/cel.txt.
 */
const REFERENCE = process.env['ANNEX_REFERENCE'];
const COUNT = Number(process.env['ANNEX_FUZZ_COUNT'] ?? 2000);
const SEED = Number(process.env['ANNEX_FUZZ_SEED'] ?? 1);
const BATCH = 25;
const OBJECTS = 6;
const GROUP = `celfuzz${Date.now().toString(36)}.example.com`;
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Type names in messages are numbered. */
const TYPE_NAMES = /\b(selfType)\d+/g;

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

const run = REFERENCE === undefined ? describe.skip : describe;

function definition(plural: string, sources: readonly string[]): JsonObject {
  // Rules apply to separate fields, so that the limit of all rules together is rarely reached.
  const spec = { type: 'object', properties: SPEC, 'x-kubernetes-validations': sources.map((rule) => ({ rule })) };
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Cluster',
      names: { plural, singular: plural, kind: plural, listKind: `${plural}list` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

/** Returns the status and causes of a refusal, without the name of the object. */
const said = ({ status, body }: Answer): JsonValue => {
  const causes = dig(body, 'details', 'causes');
  return [status, causes === undefined && status >= 300 ? (body['message'] ?? null) : (causes ?? null)];
};

run('with kube-apiserver (skipped without ANNEX_REFERENCE, which names one)', () => {
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  let server: TestServer | undefined;
  let clients: readonly [reference: FuzzClient, annex: FuzzClient];
  const found: string[] = [];
  let judged = 0;

  beforeAll(async () => {
    const [url = '', token = '', ca = ''] = (REFERENCE ?? '').split(',');
    server = await TestServer.start(folder, []);
    clients = [
      new FuzzClient({ url, token, ca: readFileSync(ca, 'utf8') }, 30_000),
      new FuzzClient({ url: server.url, token: ADMIN, ca: server.ca }, 30_000),
    ];
  });

  afterAll(() => {
    for (const client of clients) client.close();
  });

  async function ask(client: FuzzClient, method: string, path: string, body?: JsonObject): Promise<Answer> {
    const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body)).toString('latin1');
    const answer = await client.send({ method, path, headers: { 'content-type': 'application/json' }, body: text });
    const received = answer.body.toString();
    // A path that is not served yet is answered in plain text.
    const parsed = received.startsWith('{') ? (JSON.parse(received) as JsonObject) : { message: received };
    return { status: answer.status, body: parsed };
  }

  const both = (method: string, path: string, body?: JsonObject): Promise<Answer[]> =>
    Promise.all(clients.map((client) => ask(client, method, path, body)));

  function compare(what: string, answers: readonly Answer[]): boolean {
    const [theirs = '', ours = ''] = answers.map((answer) => JSON.stringify(said(answer)).replaceAll(TYPE_NAMES, '$1'));
    if (theirs === ours) return true;
    // The texts are shown from shortly before the first difference.
    let at = 0;
    while (theirs[at] === ours[at]) at++;
    const shown = (text: string): string => text.slice(Math.max(0, at - 60), at + 1000);
    found.push(`${what}\n  reference: ${shown(theirs)}\n  annex:     ${shown(ours)}`);
    return false;
  }

  /** Returns the rules that both servers accept. */
  async function compile(sources: readonly string[]): Promise<string[]> {
    const taken: string[] = [];
    for (const source of sources) {
      const answers = await both('POST', `${CRDS}?dryRun=All`, definition('single', [source]));
      if (compare(`rule ${source}`, answers) && answers[0]?.status === 201) taken.push(source);
    }
    return taken;
  }

  async function evaluate(plural: string, sources: readonly string[], objects: readonly JsonObject[]): Promise<void> {
    const created = await both('POST', CRDS, definition(plural, sources));
    if (!compare(`rules ${JSON.stringify(sources)}`, created) || created[0]?.status !== 201) return;
    const path = `/apis/${GROUP}/v1/${plural}`;
    for (const client of clients) {
      for (let i = 0; i < 300 && (await ask(client, 'GET', path)).status !== 200; i++)
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const before = { apiVersion: `${GROUP}/v1`, kind: plural, metadata: { name: 'a' } };
    for (const spec of objects) {
      judged++;
      const answers = await both('POST', `${path}?dryRun=All`, { ...before, spec });
      const [theirs, ours] = answers;
      if (JSON.stringify(said(answers[0] as Answer)) === JSON.stringify(said(ours as Answer))) continue;
      explain(spec, theirs as Answer, ours as Answer);
    }
    await both('DELETE', `${CRDS}/${plural}.${GROUP}`);
  }

  /** Records the causes that only one of the two servers has. */
  function explain(spec: JsonObject, theirs: Answer, ours: Answer): void {
    const causes = (answer: Answer): string[] => {
      const list = dig(answer.body, 'details', 'causes');
      return Array.isArray(list) ? list.map((cause) => JSON.stringify(cause)) : [JSON.stringify(said(answer))];
    };
    const [a, b] = [causes(theirs), causes(ours)];
    const onlyA = a.filter((cause) => !b.includes(cause));
    const onlyB = b.filter((cause) => !a.includes(cause));
    found.push(
      [
        `object ${JSON.stringify(spec)}`,
        ...onlyA.map((c) => `  reference: ${c}`),
        ...onlyB.map((c) => `  annex:     ${c}`),
      ].join('\n'),
    );
  }

  test('both servers compile and evaluate rules alike', async () => {
    const sources = fc.sample(rules, { numRuns: COUNT, seed: SEED });
    const objects = fc.sample(specs, { numRuns: Math.ceil(COUNT / BATCH) * OBJECTS, seed: SEED });
    const batches = Array.from({ length: Math.ceil(COUNT / BATCH) }, (_, i) => i);
    const work = async (): Promise<void> => {
      for (let i = batches.shift(); i !== undefined; i = batches.shift()) {
        const taken = await compile(sources.slice(i * BATCH, (i + 1) * BATCH));
        if (taken.length > 0) await evaluate(`p${String(i)}x`, taken, objects.slice(i * OBJECTS, (i + 1) * OBJECTS));
      }
    };
    await Promise.all(Array.from({ length: 4 }, work));
    const out = join(ROOT, '.cache/fuzz');
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, 'cel.txt'), found.join('\n\n'));
    expect(judged).toBeGreaterThan(0);
    expect(found.slice(0, 20)).toEqual([]);
  }, 3_600_000);
});
