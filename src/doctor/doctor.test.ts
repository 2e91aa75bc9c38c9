import { X509Certificate } from 'node:crypto';
import { type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { type ClusterAnswer, ClusterError } from '../client/cluster-client.js';
import { createCertificate, generateKey } from '../pki/certificates.js';
import type { Cluster } from './cluster.js';
import { type Clients, examineCluster } from './doctor.js';
import { checkDiscovery } from './discovery.js';
import { lineOf } from './finding.js';

const REVIEWS = '/apis/authorization.k8s.io/v1';
const CONFIG = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
const ADMISSION = '/apis/admissionregistration.k8s.io/';
const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const service = {
  serviceName: 'annex',
  serviceNamespace: 'annex-system',
  servicePort: 443,
  ownerClusterRole: '',
  admissionFromCluster: true,
  registerDefinitions: true,
};

const NOW = Date.UTC(2026, 0, 1);
const END = Date.UTC(2027, 0, 1);

function caPem(notAfter = END): string {
  const { privateKey, publicKey } = generateKey();
  const request = { subject: { commonName: 'ca' }, publicKey, usage: 'ca' as const, notBefore: 0, notAfter };
  return createCertificate(request, { key: privateKey });
}

const CA = caPem();
const EXPIRED = caPem(NOW - 1000);
const fingerprint = (pem: string): string => new X509Certificate(pem).fingerprint256;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const apiService = (name: string, condition: JsonObject, over: JsonObject = {}, caBundle = CA): JsonObject => ({
  metadata: { name },
  spec: { service: { name: 'annex', namespace: 'annex-system', port: 443, ...over }, caBundle: base64(caBundle) },
  status: { conditions: [{ type: 'Available', ...condition }] },
});

const healthy = {
  version: { status: 200, body: { gitVersion: 'v1.36.3' } },
  tokenReview: { status: 201, body: { status: { authenticated: false } } },
  accessReview: { status: 201, body: { status: { allowed: false } } },
  may: (_attributes: JsonObject): boolean => true,
  services: [apiService('v1.kubeannex.io', { status: 'True' })],
  config: {
    'requestheader-client-ca-file': CA,
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-allowed-names': '["front-proxy-client"]',
  } as JsonObject | undefined,
  adoptions: { status: 200, body: { items: [] } } as ClusterAnswer,
  definitions: [] as readonly JsonObject[],
  crds: [] as readonly JsonObject[],
  /** The groups of aggregated discovery. */
  groups: [] as readonly JsonObject[],
  /** The policies, by their path below admissionregistration.k8s.io. */
  policies: {} as Readonly<Record<string, readonly JsonObject[]>>,
};

const withParams = (apiVersion: string, kind: string): JsonObject => ({ spec: { paramKind: { apiVersion, kind } } });

function cluster(state: typeof healthy): Cluster {
  return {
    call: (_, path, body) => {
      if (path === '/version') return Promise.resolve(state.version);
      if (path === `${REVIEWS}/selfsubjectaccessreviews`) {
        const allowed = state.may(objectAt(objectAt(body, 'spec'), 'resourceAttributes') ?? {});
        return Promise.resolve({ status: 201, body: { status: { allowed } } });
      }
      if (path === `${REVIEWS}/subjectaccessreviews`) return Promise.resolve(state.accessReview);
      if (path === '/api/v1') {
        const resources = [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }];
        return Promise.resolve({ status: 200, body: { resources } });
      }
      if (path === '/apis/example.com/v1') return Promise.resolve({ status: 404, body: {} });
      if (path === '/apis/authentication.k8s.io/v1/tokenreviews') return Promise.resolve(state.tokenReview);
      if (path === '/apis/kubeannex.io/v1alpha1/adoptions') return Promise.resolve(state.adoptions);
      const items = path.endsWith('/resourcedefinitions')
        ? state.definitions
        : path.endsWith('/customresourcedefinitions')
          ? state.crds
          : undefined;
      if (items !== undefined) return Promise.resolve({ status: 200, body: { items } });
      if (path.endsWith('validatingadmissionpolicies')) return Promise.resolve({ status: 404, body: {} });
      return Promise.reject(new Error(`nobody should call ${path}`));
    },
    must: (_, path) => {
      if (path.startsWith(ADMISSION)) {
        const items = state.policies[path.slice(ADMISSION.length)];
        return Promise.resolve(items === undefined ? undefined : ({ metadata: {}, items } as unknown as KubeObject));
      }
      if (path === SERVICES) return Promise.resolve({ metadata: {}, items: state.services } as KubeObject);
      if (path === CONFIG) {
        if (state.config === undefined) return Promise.reject(new ClusterError(403, 'configmaps is forbidden'));
        return Promise.resolve({ metadata: {}, data: state.config } as KubeObject);
      }
      return Promise.reject(new Error(`nobody should call ${path}`));
    },
  };
}

const known = { now: NOW, authorities: [fingerprint(CA)] };

const serversWith = (groups: readonly JsonObject[]): Clients['servers'] => ({
  everywhere: async (_, holds) => {
    const nobody = (): Promise<never> => Promise.reject(new Error('nobody is asked'));
    await holds({ call: nobody, plain: nobody, discovery: () => Promise.resolve(groups) });
  },
});

async function lines(over: Partial<typeof healthy>): Promise<string[]> {
  const state = { ...healthy, ...over };
  const one = cluster(state);
  const servers = serversWith(state.groups);
  const clients = { main: one, authn: one, authz: one, server: 'https://c', servers, close: () => undefined };
  const found: string[] = [];
  for await (const finding of examineCluster(clients, service, known)) found.push(lineOf(finding));
  return found;
}

describe('examineCluster', () => {
  test('a ResourceDefinition that is not registered is named with the reason', async () => {
    const message = 'the group version a.example.com/v1 cannot be registered: it belongs to another release of Annex';
    const conditions = [{ type: 'Registered', status: 'False', reason: 'Conflict', message }];
    const definitions = [{ metadata: { name: 'widgets.a.example.com' }, status: { conditions } }];
    expect(await lines({ definitions })).toContain(
      `registration: failed: widgets.a.example.com: Conflict: ${message}; fix: delete the other APIService or definition, or choose another group`,
    );
  });

  test('a type that the discovery of a kube-apiserver lacks is named with the remedy', async () => {
    const spec = { group: 'a.example.com', names: { plural: 'widgets' }, versions: [{ name: 'v1', served: true }] };
    const established = { conditions: [{ type: 'Established', status: 'True' }] };
    const crds = [{ metadata: { name: 'widgets.a.example.com' }, spec, status: established }];
    const groups = [{ metadata: { name: 'a.example.com' }, versions: [{ version: 'v1', resources: [] }] }];
    expect((await lines({ crds, groups })).join('\n')).toContain(
      'discovery: failed: its discovery lacks widgets of a.example.com/v1; fix: delete the APIService of the version',
    );
    expect(await lines({ crds: [{ ...crds[0], status: {} }], groups })).toContain('discovery: ok');
  });

  test('a kube-apiserver that cannot be asked is no failure of discovery', async () => {
    const everywhere = (): Promise<never> => Promise.reject(new Error('discovery: the kube-apiserver a:443: refused'));
    expect(lineOf(await checkDiscovery(cluster(healthy), { everywhere }))).toBe(
      'discovery: warning (not every kube-apiserver answers: discovery: the kube-apiserver a:443: refused)',
    );
  });

  test('without adoptions, the right that the check of discovery needs is missing', async () => {
    const everywhere = (): Promise<never> => Promise.reject(new ClusterError(403, 'forbidden'));
    expect(lineOf(await checkDiscovery(cluster(healthy), { everywhere }))).toMatch(
      /^discovery: skipped \(only adoptions/,
    );
  });

  test('a healthy cluster passes all checks', async () => {
    expect(await lines({})).toEqual([
      'cluster: ok (https://c, v1.36.3)',
      'rights: ok',
      'rights to follow admission: ok',
      'rights to read params: ok (no policy refers to any)',
      'rights to authenticate: ok',
      'rights to authorize: ok',
      'APIService v1.kubeannex.io: ok (available)',
      'caBundle: ok (valid until 2027-01-01T00:00:00.000Z)',
      'registration: ok',
      'adoptions: ok',
      'left-overs of adoptions: ok',
      'discovery: ok',
      'front-proxy trust: ok (names front-proxy-client, until 2027-01-01T00:00:00.000Z)',
      'TokenReview: ok (answered)',
      'SubjectAccessReview: ok (answered)',
    ]);
  });

  test('if credentials are refused, the other checks are skipped', async () => {
    const found = await lines({ version: { status: 401, body: { gitVersion: '' } } });
    expect(found).toHaveLength(2);
    expect(found[0]).toMatch(/^cluster: failed: https:\/\/c does not accept the credentials in use; fix: /);
    expect(found[1]).toMatch(/^everything else: skipped/);
  });

  test('a cluster that does not respond fails the first check, and the others are skipped', async () => {
    const call = (): Promise<never> => Promise.reject(new ClusterError(0, 'connect ECONNREFUSED'));
    const one: Cluster = { call, must: call };
    const found: string[] = [];
    const clients = {
      main: one,
      authn: one,
      authz: one,
      server: 'https://c',
      servers: serversWith([]),
      close: () => undefined,
    };
    for await (const finding of examineCluster(clients, service, known)) found.push(lineOf(finding));
    expect(found[0]).toMatch(/^cluster: failed: https:\/\/c: connect ECONNREFUSED; fix: /);
    expect(found.slice(1)).toEqual([expect.stringMatching(/^everything else: skipped/)]);
  });

  test.each([
    [403, 'adoptions: warning (the identity in use may not list adoptions.kubeannex.io)'],
    [404, 'adoptions: skipped (the cluster does not serve them)'],
  ])('status %p for adoptions is not an error', async (status, line) => {
    expect(await lines({ adoptions: { status, body: {} } })).toContain(line);
  });

  test('disabled admission is a warning, not an error', async () => {
    const one = cluster({ ...healthy, may: ({ group }) => group !== 'admissionregistration.k8s.io' });
    const clients = {
      main: one,
      authn: one,
      authz: one,
      server: 'https://c',
      servers: serversWith([]),
      close: () => undefined,
    };
    const found: string[] = [];
    const off = { ...service, admissionFromCluster: false };
    for await (const finding of examineCluster(clients, off, known)) found.push(lineOf(finding));
    expect(found.filter((line) => !/: ok\b/.test(line))).toEqual([
      "admission: warning (--admission-from-cluster=false: the cluster's webhooks and policies do not apply to the types that Annex serves)",
    ]);
  });

  test('reports the paramKinds of policies in any version, and those that are not served', async () => {
    const params = async (policies: (typeof healthy)['policies']): Promise<string | undefined> =>
      (await lines({ policies })).find((line) => line.startsWith('rights to read params'));
    const mine = { 'v1/validatingadmissionpolicies': [withParams('v1', 'ConfigMap'), { spec: {} }] };
    expect(await params(mine)).toBe('rights to read params: ok (/v1, Kind=ConfigMap)');
    const older = { 'v1beta1/mutatingadmissionpolicies': [withParams('example.com/v1', 'Size')] };
    expect(await params({ ...mine, ...older })).toBe(
      'rights to read params: warning (the cluster does not serve example.com/v1, Kind=Size)',
    );
  });

  const refused = { status: 403, body: { message: 'forbidden' } as JsonObject };
  test.each<[string, object, string]>([
    [
      'rights',
      {
        may: (of: JsonObject) =>
          !['create', 'update'].includes(stringAt(of, 'verb') ?? '') || of['group'] !== 'apiregistration.k8s.io',
      },
      'rights: failed: it may not create, update apiservices.apiregistration.k8s.io; fix:',
    ],
    [
      'permission to read the configuration',
      { may: (of: JsonObject) => of['resource'] !== 'configmaps' },
      'rights to authenticate: failed: it may not get, list, watch configmaps kube-system/extension-apiserver-authentication; fix: ',
    ],
    [
      'permission to review access',
      { may: (of: JsonObject) => of['resource'] !== 'subjectaccessreviews' },
      'rights to authorize: failed: it may not create subjectaccessreviews.authorization.k8s.io; fix: ',
    ],
    [
      'permission to follow admission',
      { may: (of: JsonObject) => of['resource'] !== 'validatingadmissionpolicies' },
      'rights to follow admission: failed: it may not list, watch validatingadmissionpolicies.admissionregistration.k8s.io; fix: ',
    ],
    [
      'permission to read params',
      {
        may: (of: JsonObject) => of['resource'] !== 'configmaps' || of['namespace'] !== '',
        policies: { 'v1/validatingadmissionpolicies': [withParams('v1', 'ConfigMap')] },
      },
      "rights to read params: failed: it may not list, watch configmaps; fix: allow the identity in use to list and watch them, for example with the chart's value admission.paramRules",
    ],
    ['no APIService', { services: [] }, 'APIService v1.kubeannex.io: failed: not found; fix: start'],
    [
      'an APIService of another installation',
      { services: [apiService('v1.kubeannex.io', { status: 'True' }, { name: 'annex2' })] },
      'APIService v1.kubeannex.io: failed: it refers to a Service other than annex-system/annex; fix: ',
    ],
    [
      'another port',
      { services: [apiService('v1.kubeannex.io', { status: 'True' }, { port: 6443 })] },
      'APIService v1.kubeannex.io: failed: it has port 6443, not 443; fix: ',
    ],
    [
      'an APIService that is not available',
      {
        services: [
          ...healthy.services,
          apiService('v1.demo.example.com', { status: 'False', reason: 'MissingEndpoints', message: 'no\n endpoints' }),
        ],
      },
      'APIService v1.demo.example.com: failed: it is not available: MissingEndpoints: no endpoints; fix: check that the selector',
    ],
    [
      'a stuck adoption',
      {
        adoptions: {
          status: 200,
          body: {
            items: [
              { metadata: { name: 'a.com' }, status: { phase: 'InSync' } },
              {
                metadata: { name: 'b.com' },
                status: {
                  conditions: [{ type: 'Copied', status: 'False', reason: 'ClusterError', message: 'forbidden' }],
                },
              },
            ],
          },
        },
      },
      'adoptions: failed: b.com: forbidden; fix: read',
    ],
    [
      'a configuration without permission to read it',
      { config: undefined },
      'front-proxy trust: failed: configmaps is forbidden; fix: ',
    ],
    ['no front proxy', { config: {} }, 'front-proxy trust: failed: the cluster has no front proxy'],
    [
      'a malformed configuration',
      { config: { ...healthy.config, 'requestheader-username-headers': '{}' } },
      'front-proxy trust: failed: the ConfigMap kube-system/extension-apiserver-authentication cannot be used: requestheader-username-headers is not a list of strings; fix: ',
    ],
    [
      'a front proxy whose CA has expired',
      { config: { ...healthy.config, 'requestheader-client-ca-file': EXPIRED } },
      "front-proxy trust: failed: its CA expired on 2025-12-31T23:59:59.000Z: the cluster's users are anonymous to Annex; fix: renew",
    ],
    [
      'a caBundle without the CA of the server',
      { services: [apiService('v1.kubeannex.io', { status: 'True' }, {}, caPem())] },
      'caBundle: failed: APIService v1.kubeannex.io: it lacks a CA of the server; fix:',
    ],
    [
      'a caBundle that has expired',
      { services: [...healthy.services, apiService('v1.demo.example.com', { status: 'True' }, {}, EXPIRED)] },
      'caBundle: failed: APIService v1.demo.example.com: all its CAs have expired, the last on 2025-12-31T23:59:59.000Z; fix: ',
    ],
    [
      'an invalid caBundle',
      { services: [apiService('v1.kubeannex.io', { status: 'True' }, {}, 'x')] },
      'caBundle: failed: APIService v1.kubeannex.io: data does not contain any valid RSA or ECDSA certificates; fix: ',
    ],
    ['a refused TokenReview', { tokenReview: refused }, 'TokenReview: failed: forbidden (status 403); fix:'],
    [
      'a cluster that accepts every token',
      { tokenReview: { status: 201, body: { status: { authenticated: true } } } },
      'TokenReview: failed: the cluster accepts a made-up token; fix: ',
    ],
    [
      'a refused SubjectAccessReview',
      { accessReview: refused },
      'SubjectAccessReview: failed: forbidden (status 403); fix:',
    ],
  ])('%s is reported, and the other checks run', async (_, state, start) => {
    const found = await lines(state);
    expect(found.filter((line) => line.includes(': failed: '))).toEqual([expect.stringContaining(start)]);
    expect(found.length).toBeGreaterThanOrEqual(9);
    expect(found.at(-1)).toMatch(/^SubjectAccessReview: /);
  });
});
