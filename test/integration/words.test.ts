import { type Answer, type Call, Http1 } from './client.js';
import { configMap, define } from './objects.js';
import { eventually, serverForFile } from './server.js';

/** Names of members of every JavaScript object, each with a name of the same shape that is not one. */
const WORDS = [
  ['constructor', 'nonesuchone'],
  ['toString', 'noneSuch'],
  ['hasOwnProperty', 'noneSuchThings'],
  ['__proto__', '__nones__'],
  ['valueOf', 'noneSuc'],
] as const;

const server = serverForFile();
const http = (): Http1 => new Http1(server.current);
const CORE = '/api/v1/namespaces/default';
const GADGETS = '/apis/words.example.com/v1/namespaces/default/gadgets';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };

beforeAll(async () => {
  await define(http(), 'words.example.com', 'gadgets', 'Gadget');
  expect((await http().post(`${CORE}/configmaps`, configMap('kept', { a: 'b' }))).status).toBe(201);
  const gadget = { apiVersion: 'words.example.com/v1', kind: 'Gadget', metadata: { name: 'kept' } };
  expect((await http().post(GADGETS, gadget)).status).toBe(201);
  await eventually('the account of the namespace', async () =>
    (await http().get(`${CORE}/serviceaccounts/default`)).status === 200 ? true : undefined,
  );
});

const get = (path: (word: string) => string) => (word: string) => ({ path: path(word) });
const send =
  (method: string, path: string, body: (word: string) => object, headers: Record<string, string> = {}) =>
  (word: string): Call => ({ method, path: path.replaceAll('WORD', word), body: body(word), headers });
const review = (group: string, kind: string, spec: (word: string) => object) =>
  send('POST', `/apis/${group}/v1/${kind.toLowerCase()}s`, (word) => ({
    apiVersion: `${group}/v1`,
    kind,
    spec: spec(word),
  }));
const may = (spec: (word: string) => object) => review('authorization.k8s.io', 'SubjectAccessReview', spec);
const made = (more: (word: string) => object) => (word: string) => ({
  ...configMap('made'),
  ...more(word),
});

const PLACES: readonly (readonly [string, (word: string) => Call])[] = [
  ['subresource', get((word) => `${CORE}/configmaps/kept/${word}`)],
  ['subresource of an account', send('POST', `${CORE}/serviceaccounts/default/WORD`, () => ({}))],
  ['written subresource', send('PUT', `${CORE}/configmaps/kept/WORD`, () => configMap('kept'))],
  ['custom subresource', get((word) => `${GADGETS}/kept/${word}`)],
  ['patched custom subresource', send('PATCH', `${GADGETS}/kept/WORD`, () => ({}), MERGE)],
  ['resource', get((word) => `${CORE}/${word}`)],
  ['custom resource', get((word) => `/apis/words.example.com/v1/${word}`)],
  ['version', get((word) => `/apis/words.example.com/${word}/gadgets`)],
  ['group', get((word) => `/apis/${word}/v1/gadgets`)],
  ['group in discovery', get((word) => `/apis/${word}`)],
  ['document of a group', get((word) => `/openapi/v3/apis/${word}/v1`)],
  ['path', get((word) => `/${word}`)],
  ['object', get((word) => `${CORE}/configmaps/${word}`)],
  ['namespace', get((word) => `/api/v1/namespaces/${word}/configmaps`)],
  ['check of health', get((word) => `/livez/${word}`)],
  ['check left out', get((word) => `/readyz?exclude=${word}`)],
  ['parameter', get((word) => `${CORE}/configmaps?${word}=1`)],
  ['field of a selector', get((word) => `${CORE}/configmaps?fieldSelector=${word}%3D1`)],
  ['field of a custom selector', get((word) => `${GADGETS}?fieldSelector=spec.${word}%3D1`)],
  ['label of a selector', get((word) => `${CORE}/configmaps?labelSelector=${word}`)],
  ['label that must not be', get((word) => `${CORE}/configmaps?labelSelector=%21${word}&limit=1`)],
  ['dry run', send('POST', `${CORE}/configmaps?dryRun=WORD`, () => configMap('made'))],
  ['validation', send('POST', `${CORE}/configmaps?dryRun=All&fieldValidation=WORD`, () => configMap('made'))],
  ['propagation', send('DELETE', `${CORE}/configmaps/none`, (word) => ({ propagationPolicy: word }))],
  [
    'what a table shows',
    (word) => ({
      path: `${CORE}/configmaps?includeObject=${word}`,
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    }),
  ],
  [
    'transformation',
    (word) => ({ path: `${CORE}/configmaps`, headers: { accept: `application/json;as=${word};v=v1;g=meta.k8s.io` } }),
  ],
  ['media type', (word) => ({ path: `${CORE}/configmaps`, headers: { accept: `application/${word}` } })],
  ['token', (word) => ({ path: '/version', token: word })],
  ['impersonated user', (word) => ({ path: CORE, headers: { 'impersonate-user': word } })],
  [
    'impersonated extra',
    (word) => ({ path: CORE, headers: { 'impersonate-user': 'x', [`impersonate-extra-${word}`]: 'y' } }),
  ],
  [
    'kind',
    send('POST', `${CORE}/configmaps`, (word) => ({ apiVersion: 'v1', kind: word, metadata: { name: 'made' } })),
  ],
  ['data', send('POST', `${CORE}/configmaps?dryRun=All`, (word) => configMap('made', { [word]: 'x' }))],
  [
    'unknown field',
    send(
      'POST',
      `${CORE}/configmaps?dryRun=All&fieldValidation=Strict`,
      made((word) => ({ [word]: 1 })),
    ),
  ],
  [
    'custom field',
    send('PATCH', `${GADGETS}/kept?dryRun=All`, (word) => ({ spec: { [word]: { [word]: [1] } } }), MERGE),
  ],
  [
    'applied field',
    send(
      'PATCH',
      `${GADGETS}/kept?dryRun=All&fieldManager=m`,
      (word) => ({
        apiVersion: 'words.example.com/v1',
        kind: 'Gadget',
        metadata: { name: 'kept' },
        spec: { [word]: 1 },
      }),
      APPLY,
    ),
  ],
  [
    'JSON patch',
    send('PATCH', `${CORE}/configmaps/kept?dryRun=All`, (word) => [{ op: 'remove', path: `/data/${word}` }], {
      'content-type': 'application/json-patch+json',
    }),
  ],
  [
    'operation of a patch',
    send('PATCH', `${CORE}/configmaps/kept?dryRun=All`, (word) => [{ op: word, path: '/data/a' }], {
      'content-type': 'application/json-patch+json',
    }),
  ],
  [
    'strategic patch',
    send('PATCH', `${CORE}/configmaps/kept?dryRun=All`, (word) => ({ data: { [word]: null }, $patch: word }), {
      'content-type': 'application/strategic-merge-patch+json',
    }),
  ],
  [
    'labels',
    send(
      'POST',
      `${CORE}/configmaps?dryRun=All`,
      made((word) => ({ metadata: { name: 'made', labels: { [word]: word } } })),
    ),
  ],
  [
    'finalizer',
    send(
      'POST',
      `${CORE}/configmaps?dryRun=All`,
      made((word) => ({ metadata: { name: 'made', finalizers: [word] } })),
    ),
  ],
  [
    'priority of a pod',
    send('POST', `${CORE}/pods?dryRun=All`, (word) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { priorityClassName: word, containers: [{ name: 'c', image: 'i' }] },
    })),
  ],
  [
    'type of a secret',
    send('POST', `${CORE}/secrets?dryRun=All`, (word) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      type: word,
    })),
  ],
  [
    'usage of a certificate',
    send('POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', (word) => ({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'c' },
      spec: { signerName: `example.com/${word}`, usages: [word], request: 'eA==' },
    })),
  ],
  [
    'rule',
    send('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles?dryRun=All`, (word) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'r' },
      rules: [{ apiGroups: [word], resources: [word], verbs: [word] }],
    })),
  ],
  [
    'subject',
    send('POST', `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?dryRun=All`, (word) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'r' },
      subjects: [{ kind: word, name: word }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: word },
    })),
  ],
  [
    'user of a review',
    may((word) => ({
      user: word,
      groups: [word],
      extra: { [word]: [word] },
      resourceAttributes: { verb: word, group: word, resource: word, subresource: word, name: word },
    })),
  ],
  ['path of a review', may((word) => ({ user: 'x', nonResourceAttributes: { path: word, verb: word } }))],
  [
    'operator of a review',
    may((word) => ({
      user: 'x',
      resourceAttributes: {
        verb: 'list',
        resource: 'pods',
        labelSelector: { requirements: [{ key: word, operator: word, values: [word] }] },
      },
    })),
  ],
  ['token of a review', review('authentication.k8s.io', 'TokenReview', (word) => ({ token: word, audiences: [word] }))],
  [
    'operator of an expression',
    send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All', (word) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'r' },
      aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: word }] }] },
    })),
  ],
  [
    'schema',
    send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All', (word) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.words.example.com' },
      spec: {
        group: 'words.example.com',
        scope: 'Namespaced',
        names: { plural: 'things', kind: 'Thing' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { [word]: { type: word, format: word, [`x-kubernetes-list-type`]: word } },
              },
            },
          },
        ],
      },
    })),
  ],
];

/** The answer without the parts that differ on each request. */
const plain = ({ status, text }: Answer, word: string, shape: string): unknown => ({
  status,
  text: text
    .replaceAll(word, shape)
    .replaceAll(word.toLowerCase(), shape.toLowerCase())
    .replace(/"(?:uid|resourceVersion|creationTimestamp|time)":"[^"]*"/g, '')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ''),
});

describe.each(PLACES)('%s', (_name, call) => {
  test.each(WORDS)('%s is treated like any other word', async (word, shape) => {
    const answer = await http().send(call(word));
    expect(plain(answer, word, shape)).toEqual(plain(await http().send(call(shape)), shape, shape));
    expect(answer.text).not.toContain('panic');
  });
});
