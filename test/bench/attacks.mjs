// Sends hostile requests to a server of its own, and reports how long each holds the event loop, as eventloop.mjs does.
//   node test/bench/attacks.mjs [--port 6496] [--only REGEXP] [--dist dist/main.js]
// `cpu` is the CPU time of the loop's thread in the longest turn. The bound is 50 ms; the exit code reports whether it was kept.
import { connect } from 'node:tls';
import { parseArgs } from 'node:util';
import { BenchServer, DIST, pause } from './server.mjs';

const { values: flags } = parseArgs({
  options: {
    port: { type: 'string', default: '6496' },
    only: { type: 'string', default: '' },
    dist: { type: 'string', default: DIST },
  },
});
const only = new RegExp(flags.only);
const BOUND = 50;
const server = new BenchServer({ dist: flags.dist, port: flags.port, monitor: 'eventloop-monitor.mjs', keep: 200 });
const request = (...what) => server.request(...what);

const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const PODS = '/api/v1/namespaces/default/pods';
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const ROLES = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles';
const JSON_TYPE = { 'content-type': 'application/json' };
const YAML = { 'content-type': 'application/yaml' };
const ANONYMOUS = { authorization: '' };
const range = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const names = (n) => range(n, (i) => `n${i}`);

/** Sends bytes over HTTP/1.1, and resolves with the status. */
const raw = (head, body = '') =>
  new Promise((resolve) => {
    const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false });
    let text = '';
    const done = () => resolve({ status: Number(text.split(' ')[1] ?? 0), text: text.slice(0, 100) });
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\r\n')) socket.destroy();
    });
    socket.on('close', done);
    socket.on('error', done);
    socket.write(`${head}\r\n\r\n${body}`);
  });
const get = (path, headers) => raw(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}`);
const upgrade = (connection, protocols = '') =>
  get('/livez', `Upgrade: websocket\r\nConnection: ${connection}\r\nSec-WebSocket-Protocol: ${protocols}`);
const review = (body, type = JSON_TYPE) => request('POST', REVIEW, body, type);
const spec = '"spec":{"resourceAttributes":{"verb":"get"}}';
const patch = (path, body, type) => request('PATCH', path, body, { 'content-type': `application/${type}` });
const rule = (n) => ({ apiGroups: names(n), resources: names(n), verbs: names(n) });
const owners = (n, rest = {}) => range(n, (i) => ({ apiVersion: 'v1', kind: 'A', name: `n${i}`, uid: 'u', ...rest }));
const configmap = (metadata, data = {}) => JSON.stringify({ metadata, data });

const cases = [
  ['warm-up', () => request('POST', CONFIGMAPS, configmap({ name: 'a' }), JSON_TYPE)],
  [
    'warm-up: a worker',
    () => request('POST', CONFIGMAPS, configmap({ name: 'b' }, { a: 'x'.repeat(200_000) }), JSON_TYPE),
  ],
  ['warm-up: a review', () => review(`{${spec}}`)],
  ['Connection: 32,000 commas', () => upgrade(','.repeat(32_000))],
  ['Connection: 900,000 commas', () => upgrade(','.repeat(900_000))],
  ['Sec-WebSocket-Protocol: 900,000 commas', () => upgrade('upgrade', ','.repeat(900_000))],
  ['Accept: 900,000 commas', () => get('/api', `Accept: ${','.repeat(900_000)}`)],
  ['Accept-Encoding: 900,000 commas', () => get('/openapi/v2', `Accept-Encoding: ${','.repeat(900_000)}`)],
  ['Authorization: 900,000 letters', () => get('/api', `Authorization: Bearer ${'a'.repeat(900_000)}`)],
  ['Authorization: a JWT of 900,000', () => get('/api', `Authorization: Bearer ${'e30.'.padEnd(900_000, 'a')}.a`)],
  [
    '90,000 headers',
    () =>
      get(
        '/api',
        names(90_000)
          .map((name) => `${name}: a`)
          .join('\r\n'),
      ),
  ],
  [
    '4,000 headers',
    () =>
      get(
        '/api',
        names(4000)
          .map((name) => `${name}: a`)
          .join('\r\n'),
      ),
  ],
  ['90,000 equal headers', () => get('/api', range(90_000, () => 'accept: a').join('\r\n'))],
  [
    '35,000 extras',
    () =>
      get(
        '/api',
        `Impersonate-User: a\r\n${names(35_000)
          .map((name) => `Impersonate-Extra-${name}: a`)
          .join('\r\n')}`,
      ),
  ],
  [
    '4,000 extras',
    () =>
      get(
        '/api',
        `Authorization: Bearer secret\r\nImpersonate-User: a\r\n${names(4000)
          .map((name) => `Impersonate-Extra-${name}: a`)
          .join('\r\n')}`,
      ),
  ],
  ['500,000 parameters, anonymous', () => get(`${PODS}?${'a&'.repeat(500_000)}`, 'A: a')],
  ['9,000 parameters, anonymous', () => get(`${PODS}?${names(9000).join('&')}`, 'A: a')],
  ['100,000 slashes, anonymous', () => get(`/api/v1/${'a/'.repeat(100_000)}`, 'A: a')],
  ['80,000 escapes, anonymous', () => get(`/api/v1/${'%ff'.repeat(80_000)}`, 'A: a')],
  [
    'labelSelector of 1 MB, anonymous',
    () => get(`${PODS}?labelSelector=${names(150_000).join(',').slice(0, 1_000_000)}`, 'A: a'),
  ],
  ['labelSelector of 64 KB, anonymous', () => get(`${PODS}?labelSelector=${'a,'.repeat(32_000)}a`, 'A: a')],
  [
    'fieldSelector of 1 MB, anonymous',
    () => get(`${PODS}?fieldSelector=metadata.name=a${',a=b'.repeat(240_000)}`, 'A: a'),
  ],
  [
    'labelSelector of 1 MB',
    () => get(`${PODS}?labelSelector=${names(150_000).join(',').slice(0, 1_000_000)}`, 'Authorization: Bearer secret'),
  ],
  [
    'labelSelector of 64 KB',
    () => get(`${PODS}?labelSelector=${'a,'.repeat(32_000)}a`, 'Authorization: Bearer secret'),
  ],
  [
    'fieldSelector of 64 KB',
    () => get(`${PODS}?fieldSelector=${'a=b,'.repeat(16_000)}a=b`, 'Authorization: Bearer secret'),
  ],
  [
    'fieldManager of 900 KB',
    () =>
      raw(
        `POST ${CONFIGMAPS}?fieldManager=${'%09'.repeat(300_000)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Type: application/json\r\nContent-Length: 2`,
        '{}',
      ),
  ],
  [
    'User-Agent of 900 KB',
    () =>
      raw(
        `POST ${CONFIGMAPS} HTTP/1.1\r\nHost: x\r\nUser-Agent: ${'\t'.repeat(900_000)}\r\nAuthorization: Bearer secret\r\nContent-Type: application/json\r\nContent-Length: 26`,
        '{"metadata":{"name":"ua"}}',
      ),
  ],
  [
    'Content-Type of 900 KB',
    () =>
      raw(
        `POST ${CONFIGMAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json${';a=b'.repeat(200_000)}\r\nAuthorization: Bearer secret\r\nContent-Length: 2`,
        '{}',
      ),
  ],
  ['a review of 64,000 line ends', () => review(`{${'\n'.repeat(64_000)}`)],
  ['a review of 3 MiB', () => review(`{${spec},"a":"${'x'.repeat(3_000_000)}"}`)],
  ['a review of 64 KB of floats', () => review(`{${spec},"metadata":{"a":[${'1.0,'.repeat(16_000)}1]}}`)],
  [
    'a review of 64 KB of stray bytes',
    () => review(Buffer.from(`{${spec},"metadata":{"annotations":{"a":"${'\xff'.repeat(64_000)}"}}}`, 'latin1')),
  ],
  [
    'a review with 64 KB of keys',
    () =>
      review(
        `{${spec},"metadata":{"annotations":{${names(4000)
          .map((name) => `"${name}":"v"`)
          .join(',')}}}}`,
      ),
  ],
  [
    'a review with 64 KB of groups',
    () =>
      request(
        'POST',
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        JSON.stringify({ spec: { resourceAttributes: { verb: 'get' }, groups: names(7000) } }),
        JSON_TYPE,
      ),
  ],
  [
    'a review of 16 KB of YAML aliases',
    () => review(`spec: {resourceAttributes: {verb: get}}\nmetadata: {a: &a [1,2], b: [${'*a,'.repeat(5000)}]}`, YAML),
  ],
  [
    'a review of 16 KB of YAML tags',
    () =>
      review(
        `spec: {resourceAttributes: {verb: get}}\nmetadata:\n${range(1000, (i) => `  k${i}: !!str v`).join('\n')}`,
        YAML,
      ),
  ],
  ['a review of 16 KB of YAML merges', () => review(`a: &a {x: 1}\nspec: {<<: [${'*a,'.repeat(5000)}]}`, YAML)],
  [
    'a review with 600 owner references',
    () =>
      review(
        JSON.stringify({ metadata: { ownerReferences: owners(600) }, spec: { resourceAttributes: { verb: 'get' } } }),
      ),
  ],
  [
    '20,000 owner references',
    () => request('POST', CONFIGMAPS, configmap({ name: 'o', ownerReferences: owners(20_000) }), JSON_TYPE),
  ],
  [
    '900 controllers',
    () =>
      request(
        'POST',
        CONFIGMAPS,
        configmap({ name: 'c', ownerReferences: owners(900, { controller: true }) }),
        JSON_TYPE,
      ),
  ],
  [
    '20,000 controllers',
    () =>
      request(
        'POST',
        CONFIGMAPS,
        configmap({ name: 'c', ownerReferences: owners(20_000, { controller: true }) }),
        JSON_TYPE,
      ),
  ],
  [
    'a YAML bomb',
    () =>
      request(
        'POST',
        CONFIGMAPS,
        `metadata: {name: y}\na: &a [x,x,x,x,x,x,x,x,x]\n${names(20)
          .map((name, i) => `${name}: &${name} [${`*${i === 0 ? 'a' : `n${i - 1}`},`.repeat(9)}]`)
          .join('\n')}`,
        YAML,
      ),
  ],
  ['YAML of 60 KB in brackets', () => request('POST', CONFIGMAPS, `a: ${'['.repeat(60_000)}`, YAML)],
  ['JSON of 60 KB in brackets', () => request('POST', CONFIGMAPS, '{"a":'.repeat(9000), JSON_TYPE)],
  ['JSON of 3 MiB in brackets', () => request('POST', CONFIGMAPS, '['.repeat(3_000_000), JSON_TYPE)],
  [
    'CBOR of 20 KB in arrays',
    () =>
      request('POST', CONFIGMAPS, Buffer.concat([Buffer.from([0xd9, 0xd9, 0xf7]), Buffer.alloc(20_000, 0x81)]), {
        'content-type': 'application/cbor',
      }),
  ],
  [
    'CBOR that announces 2^31 items',
    () =>
      request('POST', CONFIGMAPS, Buffer.from('d9d9f7a161619a7fffffff', 'hex'), { 'content-type': 'application/cbor' }),
  ],
  [
    'Protobuf of 20 KB of groups',
    () =>
      request('POST', CONFIGMAPS, Buffer.concat([Buffer.from('k8s\0'), Buffer.alloc(20_000, 0x3b)]), {
        'content-type': 'application/vnd.kubernetes.protobuf',
      }),
  ],
  [
    'Protobuf with a length that lies',
    () =>
      request('POST', CONFIGMAPS, Buffer.from('6b3873000a120a0276311209436f6e6669674d617012ffffff7f', 'hex'), {
        'content-type': 'application/vnd.kubernetes.protobuf',
      }),
  ],
  [
    'a JSON patch that copies',
    () =>
      patch(
        `${CONFIGMAPS}/a`,
        JSON.stringify([
          { op: 'add', path: '/data', value: { a: 'x'.repeat(1000) } },
          ...range(900, (i) => ({ op: 'copy', from: '/data', path: `/data/k${i}` })),
        ]),
        'json-patch+json',
      ),
  ],
  [
    'a JSON patch of 1,200 operations',
    () =>
      patch(
        `${CONFIGMAPS}/a`,
        JSON.stringify(range(1200, (i) => ({ op: 'add', path: `/data/k${i}`, value: 'v' }))),
        'json-patch+json',
      ),
  ],
  [
    'a JSON patch that tests',
    () =>
      patch(
        `${CONFIGMAPS}/b`,
        JSON.stringify(range(1000, () => ({ op: 'test', path: '/data', value: {} }))),
        'json-patch+json',
      ),
  ],
  [
    'a strategic patch of finalizers',
    () =>
      patch(
        `${CONFIGMAPS}/a`,
        JSON.stringify({ metadata: { finalizers: range(5000, (i) => `e.x/${i}`) } }),
        'strategic-merge-patch+json',
      ),
  ],
  [
    'another one',
    () =>
      patch(
        `${CONFIGMAPS}/a`,
        JSON.stringify({ metadata: { finalizers: range(5000, (i) => `e.y/${i}`) } }),
        'strategic-merge-patch+json',
      ),
  ],
  [
    'an apply of 4,000 keys',
    () =>
      patch(
        `${CONFIGMAPS}/s?fieldManager=m&force=true`,
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 's' },
          data: Object.fromEntries(names(4000).map((name) => [name, 'v'])),
        }),
        'apply-patch+yaml',
      ),
  ],
  [
    'a role of 10^9 permissions',
    () =>
      request('POST', ROLES, JSON.stringify({ metadata: { name: 'r' }, rules: [rule(1000)] }), {
        ...JSON_TYPE,
        'impersonate-user': 'bob',
      }),
  ],
  [
    'a token request of 3 MiB',
    () =>
      request(
        'POST',
        '/api/v1/namespaces/default/serviceaccounts/default/token',
        `{"spec":{"audiences":[${'"a",'.repeat(700_000)}"a"]}}`,
        JSON_TYPE,
      ),
  ],
];

await server.start();
let kept = true;
try {
  // bob may create roles, and has no other rights.
  await request(
    'POST',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    JSON.stringify({
      metadata: { name: 'bob' },
      rules: [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['create'] }],
    }),
    JSON_TYPE,
  );
  await request(
    'POST',
    '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    JSON.stringify({
      metadata: { name: 'bob' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'bob' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
    }),
    JSON_TYPE,
  );
  for (const [name, run] of cases) {
    if (!name.startsWith('warm-up') && !only.test(name)) continue;
    await pause(100);
    await server.ask('report');
    const began = performance.now();
    const { status, text } = await run();
    const millis = performance.now() - began;
    await pause(50);
    const { gap, cpu } = await server.ask('report');
    const over = Math.min(gap, cpu) > BOUND && !name.startsWith('warm-up');
    if (over) kept = false;
    console.log(
      [
        name.padEnd(44),
        String(status),
        `${millis.toFixed(0)} ms`.padStart(8),
        `gap ${gap.toFixed(0)}`.padStart(9),
        `cpu ${cpu.toFixed(0)}`.padStart(9),
        over ? ' OVER' : '',
        status >= 400 ? `  ${text.replaceAll(/\s+/g, ' ').slice(0, 90)}` : '',
      ].join(' '),
    );
  }
} finally {
  await server.dispose();
}
process.exitCode = kept ? 0 : 1;
