import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import * as secrets from '../../util/same-secret.js';
import { BootstrapTokenAuthenticator } from './bootstrap.js';

jest.mock('../../util/same-secret.js', () => {
  const actual = jest.requireActual<typeof secrets>('../../util/same-secret.js');
  return { sameSecret: jest.fn(actual.sameSecret) };
});

const TOKEN = 'abcdef.0123456789abcdef';
const GOOD = {
  'token-id': 'abcdef',
  'token-secret': '0123456789abcdef',
  'usage-bootstrap-authentication': 'true',
};

function authenticate(token: string, data: Record<string, string>, more: JsonObject = {}) {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const secret = {
    metadata: {},
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(encoded) as JsonObject,
    ...more,
  } as KubeObject;
  const refusals: string[] = [];
  const authenticator = new BootstrapTokenAuthenticator({
    secret: (name) => (name === 'bootstrap-token-abcdef' ? secret : undefined),
    clock: new FakeClock(),
    refused: (text) => refusals.push(text),
  });
  return { response: authenticator.authenticateToken(token), refusals };
}

test.each([
  ['plain', {}, ['system:bootstrappers']],
  [
    'extra groups, deduplicated and sorted',
    { 'auth-extra-groups': 'system:bootstrappers:b,system:bootstrappers:a,system:bootstrappers:b' },
    ['system:bootstrappers', 'system:bootstrappers:a', 'system:bootstrappers:b'],
  ],
  ['not expired', { expiration: '2026-01-01T00:00:01Z' }, ['system:bootstrappers']],
])('%s', (_name, more, groups) => {
  const { response } = authenticate(TOKEN, { ...GOOD, ...more });
  expect(response).toEqual({ user: { name: 'system:bootstrap:abcdef', uid: '', groups, extra: {} } });
});

const refused: readonly (readonly [string, Record<string, string>, JsonObject, string])[] = [
  ['expired', { expiration: '2026-01-01T00:00:00Z' }, {}, 'has expired'],
  ['expiration that is no time', { expiration: 'tomorrow' }, {}, 'has expired'],
  ['not for authentication', { 'usage-bootstrap-authentication': 'yes' }, {}, 'not marked'],
  ['another id inside', { 'token-id': 'abcdeg' }, {}, 'token-id'],
  ['wrong secret', { 'token-secret': '0123456789abcdeg' }, {}, 'token-secret'],
  ['another type', {}, { type: 'Opaque' }, 'has invalid type'],
  ['being deleted', {}, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }, 'is deleted'],
  ['a group of others', { 'auth-extra-groups': 'system:masters' }, {}, 'auth-extra-groups'],
];
test.each(refused)('refused: %s', (_name, data, more, why) => {
  const { response, refusals } = authenticate(TOKEN, { ...GOOD, ...data }, more);
  expect(response).toBeUndefined();
  expect(refusals.join()).toContain(why);
  expect(refusals.join()).not.toContain(TOKEN.slice(7));
});

test.each(['', 'abcdef', 'abcdef.0123', 'ABCDEF.0123456789abcdef', `${TOKEN}\n`, 'zzzzzz.0123456789abcdef'])(
  'not a token, or unknown: %j',
  (token) => {
    expect(authenticate(token, GOOD)).toEqual({ response: undefined, refusals: [] });
  },
);

test('the secret is compared in constant time, before any other part of the token is checked', () => {
  const compared = jest.mocked(secrets.sameSecret);
  const expired = { ...GOOD, expiration: '2025-01-01T00:00:00Z', 'usage-bootstrap-authentication': 'false' };
  for (const wrong of ['0123456789abcdeg', '1123456789abcdef']) {
    compared.mockClear();
    const { refusals } = authenticate(`abcdef.${wrong}`, expired);
    expect(compared.mock.calls).toEqual([[GOOD['token-secret'], wrong]]);
    expect(refusals.join()).toContain('token-secret');
  }
});
