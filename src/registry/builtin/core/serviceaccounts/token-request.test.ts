import { ApiError } from '../../../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { BoundTokenRequest } from '../../../../authentication/token/service-account/service-account-signer.js';
import type { RequestContext } from '../../../../request/context.js';
import { FakeClock } from '../../../../../test/fakes/util/clock.js';
import { type TokenRequestDependencies, tokenRequestSubresource } from './token-request.js';

const OBJECTS: Readonly<Record<string, KubeObject>> = {
  'serviceaccounts/n/robot': { metadata: { name: 'robot', namespace: 'n', uid: 'robot-uid' } },
  'secrets/n/s': { metadata: { name: 's', namespace: 'n', uid: 's-uid' } },
  'pods/n/p': { metadata: { name: 'p', uid: 'p-uid' }, spec: { serviceAccountName: 'robot', nodeName: 'n1' } },
  'pods/n/waiting': { metadata: { name: 'waiting', uid: 'w-uid' }, spec: { serviceAccountName: 'robot' } },
  'pods/n/lost': { metadata: { name: 'lost', uid: 'l-uid' }, spec: { serviceAccountName: 'robot', nodeName: 'gone' } },
  'pods/n/other': { metadata: { name: 'other', uid: 'o-uid' }, spec: { serviceAccountName: 'default' } },
  'nodes//n1': { metadata: { name: 'n1', uid: 'n1-uid' } },
};

interface Outcome {
  readonly answer: KubeObject | string;
  readonly signed: BoundTokenRequest | undefined;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

async function create(
  spec: JsonObject,
  metadata: KubeObject['metadata'] = {},
  over: Partial<TokenRequestDependencies> = {},
  account = 'robot',
): Promise<Outcome> {
  let signed: BoundTokenRequest | undefined;
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const unavailable = (): never => {
    throw new Error('not asked for');
  };
  const subresource = tokenRequestSubresource({
    objects: {
      cached: unavailable,
      live: (kind, namespace, name) => Promise.resolve(OBJECTS[`${kind}/${namespace}/${name}`]),
    },
    signer: {
      signBound: (request) => {
        signed = request;
        return Promise.resolve({ token: 'signed', id: 'id' });
      },
      signForSecret: unavailable,
    },
    apiAudiences: ['api'],
    maxExpirationSeconds: 0,
    extendExpiration: true,
    clock: new FakeClock(),
    ...over,
  });
  const context: Partial<RequestContext> = {
    warn: (text) => warnings.push(text),
    annotate: (key, value) => (annotations[key] = value),
  };
  const object: KubeObject = { metadata, spec };
  subresource.applyDefaults?.(object);
  const done = (answer: KubeObject | string): Outcome => ({ answer, signed, warnings, annotations });
  try {
    const parent = { namespace: 'n', name: account };
    return done(await subresource.create(context as RequestContext, object, parent, () => Promise.resolve()));
  } catch (error) {
    if (error instanceof ApiError) return done(`${error.code} ${error.message}`);
    throw error;
  }
}

test('a token is for the API server and lasts one hour by default', async () => {
  const { answer, signed, warnings, annotations } = await create({});
  expect(answer).toEqual({
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name: 'robot', namespace: 'n', uid: 'robot-uid', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { audiences: ['api'], expirationSeconds: 3600, boundObjectRef: null },
    status: { token: 'signed', expirationTimestamp: '2026-01-01T01:00:00Z' },
  });
  expect(signed).toMatchObject({
    namespace: 'n',
    serviceAccount: { name: 'robot', uid: 'robot-uid' },
    audiences: ['api'],
  });
  expect(warnings).toEqual([]);
  expect(annotations).toEqual({ 'authentication.kubernetes.io/issued-credential-id': 'JTI=id' });
});

const bound = (kind: string, name: string, more: JsonObject = {}): JsonObject => ({
  boundObjectRef: { kind, apiVersion: 'v1', name, ...more },
});

describe('bound to', () => {
  const cases: readonly (readonly [string, JsonObject, Partial<BoundTokenRequest>])[] = [
    ['a secret', bound('Secret', 's'), { secret: { name: 's', uid: 's-uid' } }],
    ['a node', bound('Node', 'n1'), { node: { name: 'n1', uid: 'n1-uid' } }],
    [
      'a pod and its node',
      bound('Pod', 'p'),
      { pod: { name: 'p', uid: 'p-uid' }, node: { name: 'n1', uid: 'n1-uid' } },
    ],
    [
      'a pod on a node that is gone',
      bound('Pod', 'lost'),
      { pod: { name: 'lost', uid: 'l-uid' }, node: { name: 'gone' } },
    ],
    ['a pod without a node', bound('Pod', 'waiting'), { pod: { name: 'waiting', uid: 'w-uid' } }],
    ['a pod with this uid', bound('Pod', 'waiting', { uid: 'w-uid' }), { pod: { name: 'waiting', uid: 'w-uid' } }],
  ];
  test.each(cases)('%s', async (_name, spec, expected) => {
    const { answer, signed } = await create(spec);
    expect(typeof answer).toBe('object');
    const { pod, secret, node } = signed ?? {};
    expect({ pod, secret, node }).toEqual(expected);
  });
});

describe('refused', () => {
  const cases: readonly (readonly [string, JsonObject, KubeObject['metadata'], string])[] = [
    [
      'nine minutes',
      { expirationSeconds: 540 },
      {},
      '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 540: may not specify a duration less than 10 minutes',
    ],
    [
      'more than 2^32 seconds',
      { expirationSeconds: 4294967297 },
      {},
      '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
    [
      'another name',
      {},
      { name: 'x' },
      '422 TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
    ],
    [
      'another uid',
      {},
      { uid: 'x' },
      '409 Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (x) does not match the UID of the service account (robot-uid)',
    ],
    ['no such secret', bound('Secret', 'nope'), {}, '404 secrets "nope" not found'],
    ['no name', bound('Pod', ''), {}, '400 Name parameter required.'],
    [
      "somebody else's pod",
      bound('Pod', 'other'),
      {},
      '400 cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
    ],
    ['another kind', bound('ConfigMap', 'c'), {}, '400 cannot bind token to object of type /v1, Kind=ConfigMap'],
    [
      'a secret that was made anew',
      bound('Secret', 's', { uid: 'old' }),
      {},
      '409 Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated',
    ],
  ];
  test.each(cases)('%s', async (_name, spec, metadata, expected) => {
    const { answer, signed } = await create(spec, metadata);
    expect(answer).toBe(expected);
    expect(signed).toBeUndefined();
  });

  test('a missing service account', async () => {
    expect((await create({}, {}, {}, 'nobody')).answer).toBe('404 serviceaccounts "nobody" not found');
  });
});

describe('expiration', () => {
  test('is limited to the maximum of the server, with a warning', async () => {
    const { answer, signed, warnings } = await create({ expirationSeconds: 86400 }, {}, { maxExpirationSeconds: 7200 });
    expect(answer).toMatchObject({ spec: { expirationSeconds: 7200 } });
    expect(signed?.expirationSeconds).toBe(7200);
    expect(warnings).toEqual(['requested expiration of 86400 seconds shortened to 7200 seconds']);
  });

  const year = 365 * 24 * 3600;
  const cases: readonly (readonly [string, JsonObject, Partial<TokenRequestDependencies>, number])[] = [
    ['of a pod, as kubelets ask for it: a year', { ...bound('Pod', 'p'), expirationSeconds: 3607 }, {}, year],
    ['not where that is off', { ...bound('Pod', 'p'), expirationSeconds: 3607 }, { extendExpiration: false }, 3607],
    ['not for others', { ...bound('Pod', 'p'), expirationSeconds: 3607, audiences: ['vault'] }, {}, 3607],
    ['not for other times', { ...bound('Pod', 'p'), expirationSeconds: 3608 }, {}, 3608],
    ['not for secrets', { ...bound('Secret', 's'), expirationSeconds: 3607 }, {}, 3607],
  ];
  test.each(cases)('%s', async (_name, spec, over, seconds) => {
    const { answer, signed } = await create(spec, {}, over);
    expect(signed?.expirationSeconds).toBe(seconds);
    expect(signed?.warnAfterSeconds).toBe(seconds === year ? 3607 : undefined);
    // The response contains the requested expiration.
    expect(answer).toMatchObject({ spec: { expirationSeconds: spec['expirationSeconds'] } });
  });
});
