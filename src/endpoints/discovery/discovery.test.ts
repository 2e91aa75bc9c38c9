import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type protobuf from 'protobufjs';
import type { RawTypes } from '../../apimachinery/scheme/types.js';
import { ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import { toApiError } from '../../apimachinery/meta/errors.js';
import type { ApiGroup, ApiResourceEntry } from '../../registry/rest/interfaces.js';
import type { AuditRecorder } from '../../request/audit.js';
import type { RequestContext } from '../../request/context.js';
import { writeStatus } from '../responsewriters/status.js';
import { Discovery, type DiscoverySource } from './discovery.js';
import { storageVersionHash } from '../../registry/generic/store/storage-version-hash.js';

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const protobufCodec = new ProtobufCodec(
  read('data/protobuf.json') as protobuf.INamespace,
  read('data/types/types.json') as RawTypes,
);
const options = { compression: true, cbor: false, protobuf: protobufCodec, serverAddress: '192.0.2.2:6543' };

const readVerbs = ['get', 'patch', 'update'];
const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const status: ApiResourceEntry = {
  name: 'foos/status',
  singularName: '',
  namespaced: true,
  kind: 'Foo',
  verbs: readVerbs,
};
const foos: ApiResourceEntry = {
  name: 'foos',
  singularName: 'foo',
  namespaced: true,
  kind: 'Foo',
  verbs,
  shortNames: ['fo'],
  categories: ['all'],
  storageVersionHash: storageVersionHash('neg.example.com', 'v1', 'Foo'),
};
const scale: ApiResourceEntry = { ...status, name: 'foos/scale', group: 'autoscaling', version: 'v1', kind: 'Scale' };
const leases: ApiResourceEntry = {
  name: 'leases',
  singularName: 'lease',
  namespaced: true,
  kind: 'Lease',
  verbs: ['get'],
};

const groups: ApiGroup[] = [
  {
    name: '',
    preferredVersion: 'v1',
    versions: [{ version: 'v1', resources: [{ ...leases, name: 'bindings', kind: 'Binding' }] }],
  },
  { name: 'coordination.k8s.io', preferredVersion: 'v1', versions: [{ version: 'v1', resources: [leases] }] },
  {
    name: 'neg.example.com',
    preferredVersion: 'v1',
    versions: [
      { version: 'v1', resources: [foos, status, scale], custom: true },
      { version: 'v1beta1', resources: [], custom: true, stale: true },
    ],
  },
];

let current: readonly ApiGroup[] = groups;
let changed = (): void => undefined;
let asked = 0;
let complete = true;
const source: DiscoverySource = {
  groups: () => {
    asked++;
    return current;
  },
  isComplete: () => complete,
  onChange: (callback) => {
    changed = callback;
  },
};

const noted: unknown[] = [];
let server: Server;
let port: number;

beforeAll((done) => {
  const discovery = new Discovery(source, options);
  server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const userAgent = request.headers['user-agent'] ?? '';
    const audit: Partial<AuditRecorder> = {
      responseObject: (make) => {
        noted.push(make());
      },
    };
    const context = {
      info: { path },
      userAgent,
      audit: request.headers['x-audited'] === undefined ? undefined : (audit as AuditRecorder),
    } as RequestContext;
    discovery.handle(context, request, response).catch((error: unknown) => {
      void writeStatus({ context, request, response }, toApiError(error), options);
    });
  }).listen(0, '127.0.0.1', () => {
    port = (server.address() as AddressInfo).port;
    done();
  });
});

afterAll((done) => {
  server.close(done);
});

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', path, headers, method, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    });
    request.on('error', reject);
    request.end();
  });
}

const aggregated = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json' };

test.each<[string, Record<string, string>]>([
  ['/api', {}],
  ['/apis', {}],
  ['/apis', aggregated],
  ['/apis/neg.example.com/v1', {}],
])('audits the returned document: %s %j', async (path, headers) => {
  noted.length = 0;
  const answer = await ask(path, { ...headers, 'x-audited': '1' });
  expect(answer.status).toBe(200);
  expect(noted).toEqual([JSON.parse(answer.body.toString())]);
});

test('hashes storage versions like kube-apiserver', () => {
  expect(foos.storageVersionHash).toBe('TA8vE/rhbFo=');
  expect(storageVersionHash('', 'v1', 'ConfigMap')).toBe('qFsyl6wFWjQ=');
});

test.each<[string, string]>([
  [
    '/api',
    '{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"192.0.2.2:6543"}]}',
  ],
  [
    '/api/v1/',
    '{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"bindings","singularName":"lease","namespaced":true,"kind":"Binding","verbs":["get"]}]}',
  ],
  [
    '/apis',
    '{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"coordination.k8s.io","versions":[{"groupVersion":"coordination.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"coordination.k8s.io/v1","version":"v1"}},{"name":"neg.example.com","versions":[{"groupVersion":"neg.example.com/v1","version":"v1"},{"groupVersion":"neg.example.com/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":"neg.example.com/v1","version":"v1"}}]}',
  ],
  [
    '/apis/neg.example.com',
    '{"kind":"APIGroup","apiVersion":"v1","name":"neg.example.com","versions":[{"groupVersion":"neg.example.com/v1","version":"v1"},{"groupVersion":"neg.example.com/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":"neg.example.com/v1","version":"v1"}}',
  ],
  [
    '/apis/neg.example.com/v1',
    '{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"neg.example.com/v1","resources":[{"name":"foos","singularName":"foo","namespaced":true,"kind":"Foo","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],"shortNames":["fo"],"categories":["all"],"storageVersionHash":"TA8vE/rhbFo="},{"name":"foos/status","singularName":"","namespaced":true,"kind":"Foo","verbs":["get","patch","update"]},{"name":"foos/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]}]}',
  ],
])('%s matches the document of kube-apiserver', async (path, expected) => {
  const answer = await ask(path, { accept: 'application/json' });
  expect(answer.body.toString()).toBe(`${expected}\n`);
  expect(answer.headers['content-type']).toBe('application/json');
});

test('the aggregated document names kinds like kube-apiserver', async () => {
  const answer = await ask('/apis', aggregated);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    vary: 'Accept',
    'cache-control': 'public',
  });
  expect(answer.body.toString()).toBe(
    '{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[' +
      '{"metadata":{"name":"coordination.k8s.io"},"versions":[{"version":"v1","resources":[{"resource":"leases","responseKind":{"group":"","version":"","kind":"Lease"},"scope":"Namespaced","singularResource":"lease","verbs":["get"]}],"freshness":"Current"}]},' +
      '{"metadata":{"name":"neg.example.com"},"versions":[{"version":"v1","resources":[{"resource":"foos","responseKind":{"group":"neg.example.com","version":"v1","kind":"Foo"},"scope":"Namespaced","singularResource":"foo","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],"shortNames":["fo"],"categories":["all"],"subresources":[{"subresource":"status","responseKind":{"group":"neg.example.com","version":"v1","kind":"Foo"},"verbs":["get","patch","update"]},{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get","patch","update"]}]}],"freshness":"Current"},{"version":"v1beta1","freshness":"Stale"}]}]}\n',
  );
});

test('the aggregated document is also served as Protobuf', async () => {
  const accept = aggregated.accept.replace('application/json;', 'application/vnd.kubernetes.protobuf;');
  const answer = await ask('/apis', { accept });
  const json = JSON.parse((await ask('/apis', aggregated)).body.toString()) as { items: unknown[] };
  const decoded = protobufCodec.decode(answer.body);
  expect(decoded['items']).toMatchObject([
    { metadata: { name: 'coordination.k8s.io' } },
    { metadata: { name: 'neg.example.com' } },
  ]);
  expect(protobufCodec.encode(json as never)).toEqual(new Uint8Array(answer.body));
});

test('an unchanged document is not sent again', async () => {
  const first = await ask('/api', aggregated);
  const tag = String(first.headers['etag']);
  expect(tag).toMatch(/^"[0-9A-F]{128}"$/);
  const again = await ask('/api', { ...aggregated, 'if-none-match': tag });
  expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, tag]);
  expect((await ask('/api', { ...aggregated, 'if-none-match': `W/${tag}` })).status).toBe(200);
});

test('documents are built once, and rebuilt after a change', async () => {
  await ask('/apis/late.example.com');
  const before = asked;
  expect((await ask('/apis/late.example.com')).status).toBe(404);
  expect(asked).toBe(before);
  const { headers } = await ask('/apis', aggregated);
  current = [
    ...groups,
    { name: 'late.example.com', preferredVersion: 'v1', versions: [{ version: 'v1', resources: [] }] },
  ];
  changed();
  expect((await ask('/apis/late.example.com')).status).toBe(200);
  expect((await ask('/apis', aggregated)).headers['etag']).not.toBe(headers['etag']);
  current = groups;
  changed();
});

describe('while definitions are not served yet', () => {
  beforeAll(() => {
    complete = false;
  });
  afterAll(() => {
    complete = true;
  });

  test.each([
    '/apis',
    '/apis/nope',
    '/apis/nope/v1',
    '/apis/neg.example.com',
    '/apis/neg.example.com/v1',
    '/apis/coordination.k8s.io',
    '/apis/coordination.k8s.io/v9',
  ])('%s returns 503', async (path) => {
    for (const headers of [{ accept: 'application/json' }, aggregated]) {
      const answer = await ask(path, headers);
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
      expect(answer.body.toString()).toContain(
        'the request has been made before all known HTTP paths have been installed, please try again',
      );
    }
  });

  test.each(['/api', '/api/v1', '/apis/coordination.k8s.io/v1'])('%s is served', async (path) => {
    expect((await ask(path, { accept: 'application/json' })).status).toBe(200);
  });
});

test.each<[string, string, string, number, string]>([
  ['an unknown group', 'GET', '/apis/nope', 404, '404 page not found\n'],
  ['an unknown version of a custom group', 'GET', '/apis/neg.example.com/v9', 404, '404 page not found\n'],
  [
    'an unknown version of a built-in group',
    'GET',
    '/apis/coordination.k8s.io/v9',
    404,
    'the server could not find the requested resource',
  ],
  [
    "a version of the aggregator's group",
    'GET',
    '/apis/apiregistration.k8s.io/v1beta1',
    404,
    'the server could not find the requested resource',
  ],
  ['an unknown version of the core group', 'GET', '/api/v9', 404, 'the server could not find the requested resource'],
  ['a write to the core group', 'POST', '/api', 405, 'the server does not allow this method on the requested resource'],
  [
    'a write to a built-in version',
    'DELETE',
    '/apis/coordination.k8s.io/v1',
    405,
    'the server does not allow this method on the requested resource',
  ],
  ['a write to a custom version', 'POST', '/apis/neg.example.com/v1', 200, 'APIResourceList'],
  ['a write to the groups', 'POST', '/apis', 200, 'APIGroupList'],
])('%s', async (_name, method, path, code, text) => {
  const answer = await ask(path, { accept: 'application/json' }, method);
  expect([answer.status, answer.body.toString()]).toEqual([code, expect.stringContaining(text) as string]);
});

test.each<[string, string, string]>([
  ['/apis', 'foo/bar', 'only the following media types are accepted: '],
  ['/api', 'foo/bar', '406: Not Acceptable\\n\\nAvailable representations: '],
  ['/apis/coordination.k8s.io/v1', 'application/*', '406: Not Acceptable\\n\\nAvailable representations: '],
  ['/apis', 'application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList', 'only the following'],
])('%s refuses %s', async (path, accept, text) => {
  const answer = await ask(path, { accept });
  expect([answer.status, answer.body.toString()]).toEqual([406, expect.stringContaining(text) as string]);
});
