// Measures how long single requests block the event loop.
//   node test/bench/eventloop.mjs [--objects 100000] [--port 6495] [--only REGEXP] [--dist dist/main.js]
// Starts a server of its own on an empty store, fills it, and sends requests that are as expensive as their bounds allow. `gap` is the
// time between two turns of the loop, `cpu` the CPU time of its thread in between, both of the turn where the smaller of them is largest.
// If `cpu` is much lower, other work kept the machine busy. The bound is 50 ms for `cpu`; the exit code reports whether it was kept.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { smallRequests } from './eventloop-small.mjs';
import { BenchServer, DIST, pause } from './server.mjs';

const { values: flags } = parseArgs({
  options: {
    objects: { type: 'string', default: '100000' },
    port: { type: 'string', default: '6495' },
    only: { type: 'string', default: '' },
    dist: { type: 'string', default: DIST },
  },
});
const objects = Number(flags.objects);
const only = new RegExp(flags.only);
const BOUND = 50;
const server = new BenchServer({
  dist: flags.dist,
  port: flags.port,
  flags: ['--feature-gates=WatchList=true'],
  monitor: 'eventloop-monitor.mjs',
  keep: 300,
});
const request = (...what) => server.request(...what);
const report = () => server.ask('report');

const JSON_TYPE = { 'content-type': 'application/json' };
const MERGE = { 'content-type': 'application/merge-patch+json' };
const JSON_PATCH = { 'content-type': 'application/json-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
const GROUP = '/apis/loop.example.com/v1';
const ALL = `${GROUP}/things`;
const NS = `${GROUP}/namespaces/default/things`;
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const crd = (plural, kind, schema) =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.loop.example.com` },
    spec: {
      group: 'loop.example.com',
      scope: 'Namespaced',
      names: { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });

const item = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, value: { type: 'string' } },
};
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        seq: { type: 'integer' },
        text: { type: 'string' },
        items: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items: item },
        names: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
};

const thing = (name, spec, metadata = {}) => ({
  apiVersion: 'loop.example.com/v1',
  kind: 'Thing',
  metadata: { name, namespace: 'default', ...metadata },
  spec,
});
/** A schema does not count `1.0` as an integer, nor do the compared values. */
const floats = (name, n) => text(name, { free: { a: [] } }).replace('[]', `[${'1.0,'.repeat(n)}1.0]`);
const text = (...given) => JSON.stringify(thing(...given));
const range = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const members = (n) => Object.fromEntries(range(n, (i) => [`key-${i}`, i]));
const items = (n) => range(n, (i) => ({ name: `item-${i}`, value: 'v' }));
const properties = (n) =>
  Object.fromEntries(range(n, (i) => [`p${i}`, { type: 'string', maxLength: 10, default: 'x' }]));
const entry = (i, fieldsV1) => ({
  manager: `m${i}`,
  operation: 'Update',
  apiVersion: 'loop.example.com/v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1,
});
const owned = (n) => ({ 'f:spec': { 'f:free': Object.fromEntries(range(n, (i) => [`f:key-${i}`, {}])) } });

const certificateRequest = (request) => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'large', annotations: { 'loop.example.com/note': 'x'.repeat(250_000) } },
  spec: { request, signerName: 'loop.example.com/signer', usages: ['client auth'] },
});
const ruled = (n) =>
  Object.fromEntries(
    range(n, (i) => [`p${i}`, { type: 'string', maxLength: 10, 'x-kubernetes-validations': [{ rule: "self != ''" }] }]),
  );
const nodeObject = (n) => ({ type: 'object', properties: { spec: { type: 'object', properties: n } } });
/** Creates a definition and waits until it is served. */
const define = async (plural, kind, given) => {
  const answer = await request('POST', CRDS, crd(plural, kind, given), JSON_TYPE);
  if (answer.status !== 201) return answer;
  while ((await request('GET', customPath(plural))).status !== 200) await pause(100);
  return answer;
};
const customPath = (plural) => `/apis/loop.example.com/v1/namespaces/default/${plural}`;
const custom = (kind, spec, name) =>
  JSON.stringify({ apiVersion: 'loop.example.com/v1', kind, metadata: { name }, spec });
const small = (plural, kind, spec = {}, name = 'small') =>
  request('POST', customPath(plural), custom(kind, spec, name), JSON_TYPE);
const apply = (plural, kind, spec, manager) =>
  request(
    'PATCH',
    `${customPath(plural)}/applied?fieldManager=${manager}&force=true`,
    custom(kind, spec, 'applied'),
    APPLY,
  );
const tower = (macro, depth, innermost) =>
  range(depth, (i) => i).reduce((inner, i) => `self.ten.${macro}(x${i}, ${inner})`, innermost);
const SMALL_SCHEMA = {
  ten: { type: 'array', maxItems: 10, items: { type: 'integer' } },
  text: { type: 'string', maxLength: 30 },
};
/** Returns a schema of small objects whose rules each cost about the maximum. */
const dearly = (rules) => ({
  type: 'object',
  properties: {
    spec: { type: 'object', properties: SMALL_SCHEMA, 'x-kubernetes-validations': rules.map((rule) => ({ rule })) },
  },
});
const DEAR = {
  networks: range(12, (i) => `lists.range(${50_000 + i}).all(x, cidr('2001:db8::/32').containsIP('2001:db8::1'))`),
  versions: range(12, (i) => `lists.range(${40_000 + i}).all(x, semver('1.2.3').isLessThan(semver('1.2.4-a')))`),
  towers: range(12, (i) => `${tower('exists', 5, 'false')} == (${i} < 0)`),
  lists: range(12, (i) => `lists.range(${1000 + i}).all(x, !(x + 10000 in lists.range(400)))`),
};
const TEN = { ten: range(10, (i) => i), text: 'some text' };
const RBAC = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const role = (name, rules) =>
  request(
    'POST',
    RBAC,
    JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name },
      rules: range(rules, (i) => ({ apiGroups: [''], resources: [`r${i}`], verbs: ['get'] })),
    }),
    JSON_TYPE,
  );
const YAML = { accept: 'application/yaml' };

const writes = [
  [
    'create, 3 MiB in one string',
    () => request('POST', NS, text('string', { text: 'x'.repeat(2_900_000) }), JSON_TYPE),
  ],
  ['create, 3 MiB of unknown fields', () => request('POST', NS, text('unknown', members(130_000)), JSON_TYPE)],
  ['create, 3 MiB of free fields', () => request('POST', NS, text('free', { free: members(130_000) }), JSON_TYPE)],
  ['create, map list of 70,000', () => request('POST', NS, text('items', { items: items(70_000) }), JSON_TYPE)],
  [
    'create, set of 200,000',
    () => request('POST', NS, text('set', { names: range(200_000, (i) => `n${i}`) }), JSON_TYPE),
  ],
  [
    'create, 3 MiB of empty lists',
    () => request('POST', NS, text('lists', { free: { a: range(900_000, () => []) } }), JSON_TYPE),
  ],
  ['create, 700,000 whole floats', () => request('POST', NS, floats('floats', 700_000), JSON_TYPE)],
  ['create, 6,000 whole floats', () => request('POST', NS, floats('few-floats', 6_000), JSON_TYPE)],
  [
    'create, a field 150,000 times',
    () => request('POST', NS, `{"spec":{${'"seq":1,'.repeat(150_000)}"seq":1}}`, JSON_TYPE),
  ],
  [
    'create, 1 MiB of YAML',
    () =>
      request(
        'POST',
        NS,
        `apiVersion: loop.example.com/v1\nkind: Thing\nmetadata: {name: yaml}\nspec:\n  names:\n${'  - abcdefgh\n'.repeat(80_000)}`,
        { 'content-type': 'application/yaml' },
      ),
  ],
  [
    'create with 3 MiB of managedFields',
    () =>
      request('POST', NS, text('managed', {}, { managedFields: range(50, (i) => entry(i, owned(2_500))) }), JSON_TYPE),
  ],
  [
    'apply, 20,000 free fields',
    () => request('PATCH', `${NS}/applied?fieldManager=a`, text('applied', { free: members(20_000) }), APPLY),
  ],
  [
    'apply again by another, forced',
    () =>
      request('PATCH', `${NS}/applied?fieldManager=b&force=true`, text('applied', { free: members(20_000) }), APPLY),
  ],
  [
    'apply, 3 MiB map list',
    () => request('PATCH', `${NS}/applied2?fieldManager=a`, text('applied2', { items: items(70_000) }), APPLY),
  ],
  ['create for patches', () => request('POST', NS, text('patched', { seq: 1 }), JSON_TYPE)],
  [
    'merge patch, 3 MiB',
    () => request('PATCH', `${NS}/patched`, JSON.stringify({ spec: { free: members(130_000) } }), MERGE),
  ],
  [
    'JSON patch of 10,000 steps',
    () =>
      request(
        'PATCH',
        `${NS}/patched`,
        JSON.stringify(range(10_000, (i) => ({ op: 'add', path: `/spec/free/x${i}`, value: i }))),
        JSON_PATCH,
      ),
  ],
  ['definition, 3 MiB schema', () => define('widests', 'Widest', nodeObject(properties(50_000)))],
  ['definition, 1.5 MiB schema', () => define('wides', 'Wide', nodeObject(properties(25_000)))],
  ['an object of it, which gets 25,000 defaults', () => small('wides', 'Wide')],
  [
    'a patch of that',
    () => request('PATCH', '/apis/loop.example.com/v1/namespaces/default/wides/small', '{"spec":{"p1":"y"}}', MERGE),
  ],
  ['definition, 12,000 rules', () => define('ruleds', 'Ruled', nodeObject(ruled(12_000)))],
  ['an object of it', () => small('ruleds', 'Ruled', { p1: 'x' })],
  [
    'an object of it with 3,000 fields',
    () => small('ruleds', 'Ruled', Object.fromEntries(range(3000, (i) => [`p${i}`, 'x']))),
  ],
  ...Object.entries(DEAR).flatMap(([plural, rules]) => [
    [`definition, dear rules on ${plural}`, () => define(plural, plural, dearly(rules))],
    [`a small object with dear rules on ${plural}`, () => small(plural, plural, TEN)],
  ]),
  [
    'definition, 60 KB of long patterns',
    () =>
      define(
        'patterns',
        'Pattern',
        dearly(range(30, (i) => range(40, (j) => `self.text.matches('(a?b){${900 - i - j}}')`).join('&&'))),
      ),
  ],
  ['OpenAPI v3 of them', () => request('GET', '/openapi/v3/apis/loop.example.com/v1')],
  ['OpenAPI v2', () => request('GET', '/openapi/v2')],
  ['cluster role of 20,000 rules', () => role('large', 20_000)],
  ['cluster role of 50,000 rules', () => role('larger', 50_000)],
  [
    'certificate request, 1 MiB',
    () =>
      request(
        'POST',
        '/apis/certificates.k8s.io/v1/certificatesigningrequests',
        JSON.stringify(certificateRequest('A'.repeat(1_000_000))),
        JSON_TYPE,
      ),
  ],
  [
    'service account with 20,000 secrets',
    () =>
      request(
        'POST',
        '/api/v1/namespaces/default/serviceaccounts',
        JSON.stringify({ metadata: { name: 'large' }, secrets: range(20_000, (i) => ({ name: `s${i}` })) }),
        JSON_TYPE,
      ),
  ],
  [
    'configmap, 1 MiB in 40,000 keys',
    () =>
      request(
        'POST',
        '/api/v1/namespaces/default/configmaps',
        JSON.stringify({
          metadata: { name: 'large' },
          data: Object.fromEntries(range(40_000, (i) => [`k${i}`, 'some text'])),
        }),
        JSON_TYPE,
      ),
  ],
  [
    'get of a map list of 70,000, Table',
    () => request('GET', `${NS}/items`, undefined, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }),
  ],
  ['get of a map list of 70,000, YAML', () => request('GET', `${NS}/items`, undefined, YAML)],
  ['get of a map list of 70,000, indented', () => request('GET', `${NS}/items?pretty=1`)],
  ['get of 3 MiB of free fields, YAML', () => request('GET', `${NS}/free`, undefined, YAML)],
  [
    'list with these, Table',
    () => request('GET', NS, undefined, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }),
  ],
  ['list with these, YAML', () => request('GET', NS, undefined, YAML)],
  [
    'events of these, Table',
    () =>
      request('GET', `${NS}?watch=1&timeoutSeconds=4&includeObject=Object`, undefined, {
        accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
      }),
  ],
  [
    'events of a configmap with 40,000 keys, protobuf',
    () =>
      request('GET', '/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=4', undefined, {
        accept: 'application/vnd.kubernetes.protobuf;stream=watch',
      }),
  ],
  ['delete of the 3 MiB object', () => request('DELETE', `${NS}/free`)],
  ...smallRequests({ define, create: small, apply }),
];

/** Starts a webhook in this process that accepts every object unchanged. It reuses the server's own certificate. */
function startWebhook() {
  const pki = join(server.scratch, 'data/pki');
  const certificate = { cert: readFileSync(join(pki, 'apiserver.crt')), key: readFileSync(join(pki, 'apiserver.key')) };
  const webhook = createServer(certificate, (asked, answer) => {
    const chunks = [];
    asked.on('data', (chunk) => chunks.push(chunk));
    asked.on('end', () => {
      const { apiVersion, kind, request: review } = JSON.parse(Buffer.concat(chunks).toString());
      const convertedObjects = review.objects.map((object) => ({ ...object, apiVersion: review.desiredAPIVersion }));
      const response = { uid: review.uid, result: { status: 'Success' }, convertedObjects };
      answer.end(JSON.stringify({ apiVersion, kind, response }));
    });
  });
  return new Promise((resolve) => webhook.listen(0, '127.0.0.1', () => resolve(webhook)));
}
const VERSIONED = '/apis/loop.example.com/v2/namespaces/default/versioneds';
const versioned = (name, spec) =>
  JSON.stringify({
    apiVersion: 'loop.example.com/v2',
    kind: 'Versioned',
    metadata: { name, namespace: 'default' },
    spec,
  });
async function defineVersioned(port) {
  const definition = JSON.parse(crd('versioneds', 'Versioned', schema));
  const [v1] = definition.spec.versions;
  definition.spec.versions.push({ ...v1, name: 'v2', storage: false });
  const clientConfig = {
    url: `https://127.0.0.1:${port}/`,
    caBundle: readFileSync(join(server.scratch, 'data/ca.crt')).toString('base64'),
  };
  definition.spec.conversion = { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } };
  const answer = await request('POST', CRDS, JSON.stringify(definition), JSON_TYPE);
  while (answer.status === 201 && (await request('GET', VERSIONED)).status !== 200) await pause(100);
  return answer;
}
const conversions = [
  [
    'create in a version that a webhook converts, 3 MiB',
    () => request('POST', VERSIONED, versioned('large', { items: items(50_000) }), JSON_TYPE),
  ],
  ['get of that', () => request('GET', `${VERSIONED}/large`)],
  ['get of that, YAML', () => request('GET', `${VERSIONED}/large`, undefined, YAML)],
  ['merge patch of that', () => request('PATCH', `${VERSIONED}/large`, '{"spec":{"seq":2}}', MERGE)],
  [
    'apply of that',
    () =>
      request(
        'PATCH',
        `${VERSIONED}/large?fieldManager=a&force=true`,
        versioned('large', { items: items(40_000) }),
        APPLY,
      ),
  ],
  ['list with that', () => request('GET', VERSIONED)],
  ['list with that, by label', () => request('GET', `${VERSIONED}?labelSelector=a!%3Db`)],
  ['events of that', () => request('GET', `${VERSIONED}?watch=1&timeoutSeconds=4`)],
  ['delete of that', () => request('DELETE', `${VERSIONED}/large`)],
];

const table = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
const partial = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };
const watch = `${ALL}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`;
const reads = [
  ['list', () => request('GET', ALL)],
  ['list again', () => request('GET', ALL)],
  ['list, gzip', () => request('GET', ALL, undefined, { 'accept-encoding': 'gzip' })],
  ['list, Table', () => request('GET', ALL, undefined, table)],
  ['list, metadata', () => request('GET', ALL, undefined, partial)],
  ['list, indented', () => request('GET', `${ALL}?pretty=1`)],
  ['list, YAML', () => request('GET', ALL, undefined, { accept: 'application/yaml' })],
  ['list by label', () => request('GET', `${ALL}?labelSelector=bucket%3D7`)],
  ['list by two labels', () => request('GET', `${ALL}?labelSelector=bucket!%3D7,other`)],
  ['list by field', () => request('GET', `${ALL}?fieldSelector=metadata.name%21%3Dx`)],
  ['initial events of a watch', () => request('GET', watch)],
];

let failed = false;
async function measure(name, work) {
  if (!only.test(name)) return;
  await report();
  const from = performance.now();
  const { status, bytes, text: said } = await work();
  const millis = performance.now() - from;
  await new Promise((resolve) => setTimeout(resolve, 200));
  const { gap, cpu, rss } = await report();
  const over = Math.min(gap, cpu) > BOUND;
  if (over) failed = true;
  const figures = [status, millis.toFixed(0), (bytes / 1e6).toFixed(1), gap.toFixed(0), cpu.toFixed(0), rss.toFixed(0)];
  process.stdout.write(`| ${name} | ${figures.join(' | ')} | ${over ? 'over' : ''} |\n`);
  if (status >= 500) process.stderr.write(`${said}\n`);
}

async function fill() {
  let next = 0;
  const worker = async () => {
    while (next < objects) {
      const i = next++;
      const labels = { bucket: String(i % 100) };
      await request('POST', NS, text(`t-${i}`, { seq: i, text: 'x'.repeat(200) }, { labels }), JSON_TYPE);
    }
  };
  await Promise.all(range(32, worker));
}

try {
  await server.start();
  await request('POST', CRDS, crd('things', 'Thing', schema), JSON_TYPE);
  while ((await request('GET', ALL)).status !== 200) await pause(100);
  process.stdout.write('| request | status | ms | MB | gap | cpu | RSS MiB | |\n|---|---|---|---|---|---|---|---|\n');
  for (const [name, work] of writes) await measure(name, work);
  const webhook = await startWebhook();
  await defineVersioned(webhook.address().port);
  for (const [name, work] of conversions) await measure(name, work);
  webhook.close();
  webhook.closeAllConnections();
  for (const name of [
    'string',
    'unknown',
    'free',
    'items',
    'set',
    'lists',
    'managed',
    'applied',
    'applied2',
    'patched',
    'yaml',
  ]) {
    await request('DELETE', `${NS}/${name}`);
  }
  if (objects > 0) {
    const { gap } = await fill().then(report);
    process.stdout.write(`| ${objects} creates, 32 at a time | | | | ${gap.toFixed(0)} | | | |\n`);
    for (const [name, work] of reads) await measure(name, work);
    await server.stop();
    const from = performance.now();
    await server.start();
    const { bytes } = await request('GET', ALL);
    const took = (performance.now() - from).toFixed(0);
    process.stdout.write(
      `| start to the end of the first list | 200 | ${took} | ${(bytes / 1e6).toFixed(1)} | | | | |\n`,
    );
    await measure('list after a start', () => request('GET', ALL));
  }
} finally {
  await server.dispose();
}
process.exitCode = failed ? 1 : 0;
