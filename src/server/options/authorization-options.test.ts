import { parseOptions } from './command-line.js';
import { authorizationOptions } from './authorization-options.js';

const parse = (given: Record<string, string>): ReturnType<typeof parseOptions> =>
  parseOptions(Object.fromEntries(Object.entries(given).map(([key, value]) => [key, [value]])));

test('returns the defaults', () => {
  expect(authorizationOptions(parse({}))).toEqual({
    modes: ['Node', 'RBAC'],
    configFile: '',
    policyFile: '',
    webhookConfigFile: '',
    webhookVersion: 'v1beta1',
    webhookCacheAuthorizedTtl: 300_000,
    webhookCacheUnauthorizedTtl: 30_000,
    legacyFlagsSet: false,
  });
});

test('a configuration file replaces the modes', () => {
  expect(authorizationOptions(parse({ authorizationConfig: '/f' }))).toMatchObject({ modes: [], configFile: '/f' });
});

const exclusive =
  '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined';

describe('refused', () => {
  const cases: readonly (readonly [string, Record<string, string>, string])[] = [
    ['no mode', { authorizationMode: '' }, 'at least one authorization-mode must be passed'],
    ['unknown mode', { authorizationMode: 'RBAC,Foo' }, 'authorization-mode "Foo" is not a valid mode'],
    [
      'mode twice',
      { authorizationMode: 'RBAC,RBAC' },
      'authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
    ],
    [
      'ABAC without a file',
      { authorizationMode: 'ABAC' },
      "authorization-mode ABAC's authorization policy file not passed",
    ],
    [
      'a policy file without ABAC',
      { authorizationPolicyFile: '/p' },
      'cannot specify --authorization-policy-file without mode ABAC',
    ],
    [
      'Webhook without a file',
      { authorizationMode: 'Webhook' },
      "authorization-mode Webhook's authorization config file not passed",
    ],
    [
      'a version that is none',
      { authorizationMode: 'Webhook', authorizationWebhookConfigFile: '/w', authorizationWebhookVersion: 'v2' },
      'unsupported webhook authorizer version "v2", supported versions are "v1", "v1beta1"',
    ],
    ['file and mode', { authorizationConfig: '/f', authorizationMode: 'RBAC' }, exclusive],
    [
      'file and a webhook flag with its default',
      { authorizationConfig: '/f', authorizationWebhookVersion: 'v1beta1' },
      exclusive,
    ],
  ];
  test.each(cases)('%s', (_name, given, why) => {
    expect(() => parse(given)).toThrow(why);
  });
});
