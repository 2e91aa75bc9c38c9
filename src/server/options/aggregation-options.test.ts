import { parseOptions } from './command-line.js';
import { FlagError } from './flags.js';
import { isAggregated, validateAggregationOptions } from './aggregation-options.js';

const STANDALONE = {
  given: new Set<string>(),
  kubeconfig: '',
  serviceName: '',
  ownerClusterRole: '',
  admissionFromCluster: true,
  serviceCaFile: '',
  tlsCertFile: '',
};

test('a Service or a kubeconfig makes an extension server', () => {
  expect(isAggregated(STANDALONE)).toBe(false);
  expect(isAggregated({ ...STANDALONE, serviceName: 'annex' })).toBe(true);
  expect(() => {
    validateAggregationOptions({ ...STANDALONE, serviceName: 'annex', admissionFromCluster: false });
  }).not.toThrow();
});

test.each([
  ['a kubeconfig alone', { kubeconfig: '/k' }, '--kubeconfig needs --service-name'],
  [
    'no cluster to take admission from',
    { admissionFromCluster: false },
    '--admission-from-cluster needs --service-name',
  ],
  ['no APIService for the CA', { serviceCaFile: '/c' }, '--service-ca-file needs --service-name'],
])('%s is refused', (_, over, message) => {
  const validate = (): void => {
    validateAggregationOptions({ ...STANDALONE, ...over });
  };
  expect(validate).toThrow(FlagError);
  expect(validate).toThrow(message);
});

const AGGREGATED = { kubeconfig: ['cluster.kubeconfig'], serviceName: ['annex'] };

describe('flags that the cluster makes useless', () => {
  test.each([
    ['clientCaFile', 'client-ca-file', 'ca.crt', 'the cluster authenticates users'],
    ['oidcClientId', 'oidc-client-id', 'annex', 'the cluster authenticates users'],
    ['authorizationMode', 'authorization-mode', 'RBAC', 'the cluster authorizes requests'],
    ['controllers', 'controllers', '*', 'the cluster runs the controllers'],
  ])('%s ends the start in aggregated mode', (key, flag, value, why) => {
    expect(() => parseOptions({ ...AGGREGATED, [key]: [value] })).toThrow(
      `--${flag} has no effect in aggregated mode: ${why}`,
    );
  });

  test('cache times of reviews have an effect', () => {
    const options = parseOptions({ ...AGGREGATED, authorizationWebhookCacheAuthorizedTtl: ['1m'] });
    expect(options.authorizationWebhookCacheAuthorizedTtl).toBe(60_000);
  });

  test('paths that are always allowed belong to aggregated mode', () => {
    expect(() => parseOptions({ authorizationAlwaysAllowPaths: ['/healthz'] })).toThrow(
      '--authorization-always-allow-paths needs --service-name',
    );
  });
});
