import { ApiError } from '../../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type {
  AuthorizationResult,
  AuthorizerAttributes,
  RulesResult,
} from '../../../authorization/authorizer/interfaces.js';
import type { RequestContext } from '../../../request/context.js';
import { authorizationReviews } from './reviews.js';

let seen: AuthorizerAttributes | undefined;
let answer: AuthorizationResult = { decision: 'no-opinion', reason: '' };
let rules: RulesResult = { resourceRules: [], nonResourceRules: [], incomplete: false, error: '' };

const types = authorizationReviews({
  authorizer: {
    authorize: (attributes) => {
      seen = attributes;
      return answer;
    },
  },
  ruleResolver: { rulesFor: () => rules },
});

const context = {
  user: { name: 'self', uid: '7', groups: ['g'], extra: { k: ['v'] } },
  signal: new AbortController().signal,
} as Partial<RequestContext> as RequestContext;

beforeEach(() => {
  seen = undefined;
  answer = { decision: 'no-opinion', reason: '' };
});

/** Returns the created review, or the code and message of the error. */
async function create(
  kind: string,
  more: JsonObject,
  metadata: JsonObject = {},
  namespace = '',
): Promise<KubeObject | string> {
  const type = types.find((candidate) => candidate.kind === kind)!;
  const object: KubeObject = { apiVersion: 'authorization.k8s.io/v1', kind, metadata, ...more };
  try {
    return await type.create(context, object, namespace);
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
}

const SAR = 'SubjectAccessReview';
const SELF = 'SelfSubjectAccessReview';
const LOCAL = 'LocalSubjectAccessReview';
const RA = { verb: 'get', resource: 'pods' };

describe('validation', () => {
  const prefix = '422 .authorization.k8s.io "" is invalid: ';
  const both =
    'spec: Invalid value: {"Path":"/x","Verb":""}: exactly one of nonResourceAttributes or resourceAttributes must be specified';
  const neither =
    'spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified';
  const nobody = 'spec.user: Invalid value: "": at least one of user or group must be specified';
  const field = 'spec.resourceAttributes.fieldSelector';
  const label = 'spec.resourceAttributes.labelSelector';
  const cases: readonly (
    readonly [string, string, JsonObject, string] | readonly [string, string, JsonObject, string, JsonObject]
  )[] = [
    ['self, empty', SELF, { spec: {} }, neither],
    ['self, without a spec', SELF, {}, neither],
    ['self, both', SELF, { spec: { resourceAttributes: {}, nonResourceAttributes: { path: '/x' } } }, both],
    ['no user', SAR, { spec: { resourceAttributes: RA } }, nobody],
    [
      'all at once',
      SAR,
      { spec: { resourceAttributes: {}, nonResourceAttributes: { path: '/x' } } },
      `[${both}, ${nobody}, metadata: Invalid value: {"labels":{"a":"\\u003cb"},"managedFields":[{"manager":"m"}]}: must be empty]`,
      { labels: { a: '<b' }, managedFields: [{ manager: 'm' }] },
    ],
    [
      'named',
      SELF,
      { spec: { resourceAttributes: RA } },
      'metadata: Invalid value: {"name":"x"}: must be empty',
      { name: 'x' },
    ],
    [
      'empty selectors',
      SELF,
      { spec: { resourceAttributes: { fieldSelector: {}, labelSelector: {} } } },
      `[${field}.requirements: Required value: when ${field} is specified, requirements or rawSelector is required, ${label}.requirements: Required value: when ${label} is specified, requirements or rawSelector is required]`,
    ],
    [
      'raw and requirements',
      SELF,
      {
        spec: {
          resourceAttributes: {
            labelSelector: { rawSelector: 'x=y', requirements: [{ key: 'a', operator: 'Exists' }] },
          },
        },
      },
      `${label}.rawSelector: Invalid value: "x=y": may not specified at the same time as requirements`,
    ],
    [
      'requirements',
      SELF,
      {
        spec: {
          resourceAttributes: {
            fieldSelector: { requirements: [{ key: '', operator: 'In' }] },
            labelSelector: { requirements: [{ key: '-', operator: 'Exists', values: ['a b'] }] },
          },
        },
      },
      `[${field}.requirements[0].key: Required value: must be specified, ${field}.requirements[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn', ${label}.requirements[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist', ${label}.requirements[0].key: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), ${label}.requirements[0].values[0]: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]`,
    ],
    [
      'local, other namespace',
      LOCAL,
      { spec: { user: 'u', resourceAttributes: RA } },
      'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
      { namespace: 'ns' },
    ],
    [
      'local, path',
      LOCAL,
      { spec: { user: 'u', nonResourceAttributes: { path: '/', verb: 'get' } } },
      'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request',
      { namespace: 'ns' },
    ],
    [
      'local, named',
      LOCAL,
      { spec: { user: 'u', resourceAttributes: { namespace: 'ns' } } },
      'metadata: Invalid value: {"name":"n","namespace":"ns"}: must be empty except for namespace',
      { namespace: 'ns', name: 'n' },
    ],
  ];
  test.each(cases)('%s', async (...[, kind, more, expected, metadata = {}]) => {
    expect(await create(kind, more, metadata, 'ns')).toBe(prefix + expected);
    expect(seen).toBeUndefined();
  });
});

describe('status', () => {
  const cases: readonly (readonly [string, AuthorizationResult, JsonObject])[] = [
    ['allowed', { decision: 'allow', reason: 'because' }, { allowed: true, reason: 'because' }],
    ['no opinion', { decision: 'no-opinion', reason: '' }, { allowed: false }],
    ['denied', { decision: 'deny', reason: 'no' }, { allowed: false, denied: true, reason: 'no' }],
    ['error', { decision: 'no-opinion', reason: '', error: 'e' }, { allowed: false, evaluationError: 'e' }],
  ];
  test.each(cases)('%s', async (_name, given, status) => {
    answer = given;
    expect(
      await create(SELF, { spec: { resourceAttributes: RA }, status: { allowed: true, reason: 'claimed' } }),
    ).toMatchObject({ status });
    const local = await create(
      LOCAL,
      { spec: { user: 'u', resourceAttributes: { ...RA, namespace: 'ns' } } },
      { namespace: 'ns' },
      'ns',
    );
    expect((local as KubeObject)['status']).toEqual(status);
  });
});

describe('authorizer attributes', () => {
  test('contain the caller in a self review', async () => {
    await create(SELF, { spec: { nonResourceAttributes: { path: '/x', verb: 'post' } } });
    expect(seen).toMatchObject({ user: context.user, resourceRequest: false, path: '/x', verb: 'post' });
  });

  test('contain another user and every attribute', async () => {
    const resourceAttributes = {
      namespace: 'ns',
      verb: 'patch',
      group: 'apps',
      version: 'v9',
      resource: 'r',
      subresource: 's',
      name: 'n',
    };
    await create(SAR, { spec: { user: 'u', uid: '1', groups: ['a'], extra: { e: ['f'] }, resourceAttributes } });
    expect(seen).toEqual({
      user: { name: 'u', uid: '1', groups: ['a'], extra: { e: ['f'] } },
      verb: 'patch',
      resourceRequest: true,
      namespace: 'ns',
      apiGroup: 'apps',
      apiVersion: 'v9',
      resource: 'r',
      subresource: 's',
      name: 'n',
      path: '',
    });
  });

  test('match any version by default', async () => {
    await create(SAR, { spec: { groups: ['g'], resourceAttributes: RA } });
    expect(seen).toMatchObject({ apiVersion: '*', user: { name: '', groups: ['g'] } });
  });

  const IN = (key: string, ...values: string[]): JsonObject => ({ key, operator: 'In', values });
  const selectors: readonly (readonly [
    string,
    JsonObject,
    JsonObject,
    JsonObject[] | undefined,
    JsonObject[] | undefined,
    string | undefined,
  ])[] = [
    [
      'raw',
      { rawSelector: 'a=b,c!=d' },
      { rawSelector: 'x in (y,z),!w' },
      [IN('a', 'b'), { ...IN('c', 'd'), operator: 'NotIn' }],
      [{ key: 'w', operator: 'DoesNotExist', values: [] }, IN('x', 'y', 'z')],
      undefined,
    ],
    [
      'raw, unreadable',
      { rawSelector: 'a=b,,((' },
      { rawSelector: '!!x' },
      undefined,
      undefined,
      'spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error',
    ],
    [
      'requirements',
      { requirements: [IN('a', 'b')] },
      { requirements: [IN('x', 'y')] },
      [IN('a', 'b')],
      [IN('x', 'y')],
      undefined,
    ],
    [
      'requirements that are not understood',
      { requirements: [IN('a', 'b', 'c'), { key: 'x', operator: 'Foo' }, IN('x', 'q')] },
      { requirements: [{ key: 'x', operator: 'Foo' }] },
      [IN('x', 'q')],
      undefined,
      'spec.resourceAttributes.fieldSelector partially ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error',
    ],
    [
      'fields have no Exists',
      { requirements: [{ key: 'a', operator: 'Exists' }] },
      { requirements: [{ key: 'x', operator: 'Exists' }] },
      undefined,
      [{ key: 'x', operator: 'Exists', values: [] }],
      'spec.resourceAttributes.fieldSelector ignored due to parse error',
    ],
  ];
  test.each(selectors)('selectors: %s', async (_name, fieldSelector, labelSelector, fields, labels, error) => {
    const review = (await create(SELF, {
      spec: { resourceAttributes: { ...RA, fieldSelector, labelSelector } },
    })) as KubeObject;
    expect(seen?.fieldSelector).toEqual(fields);
    expect(seen?.labelSelector).toEqual(labels);
    expect((review['status'] as JsonObject)['evaluationError']).toBe(error);
  });
});

describe('rules', () => {
  test('require a namespace', async () => {
    expect(await create('SelfSubjectRulesReview', { spec: {} })).toBe('400 no namespace on request');
  });
  test('are returned in the status, without the spec', async () => {
    rules = {
      resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: [] }],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
      incomplete: true,
      error: 'half',
    };
    expect(await create('SelfSubjectRulesReview', { spec: { namespace: 'ns' } }, { name: 'x' })).toEqual({
      kind: 'SelfSubjectRulesReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: {},
      status: {
        resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
        incomplete: true,
        evaluationError: 'half',
      },
    });
  });
});
