import { parseOptions } from './command-line.js';
import { FlagError } from './flags.js';
import { isAggregated, validateAggregationOptions } from './aggregation-options.js';

const STANDALONE = {
  given: new Set<string>(),
  kubeconfig: '',
  serviceName: '',
  serviceCaFile: '',
  tlsCertFile: '',
};

test('a Service name makes an extension server', () => {
  expect(isAggregated(STANDALONE)).toBe(false);
  expect(isAggregated({ ...STANDALONE, serviceName: 'annex' })).toBe(true);
  expect(() => {
    validateAggregationOptions({ ...STANDALONE, serviceName: 'annex', given: new Set(['admission-from-cluster']) });
  }).not.toThrow();
});

test('refuses a kubeconfig without a Service name', () => {
  const validate = (): void => {
    validateAggregationOptions({ ...STANDALONE, kubeconfig: '/k' });
  };
  expect(validate).toThrow(FlagError);
  expect(validate).toThrow('--kubeconfig requires --service-name');
});

test.each([
  ['admissionFromCluster', 'admission-from-cluster', 'false'],
  ['authenticationKubeconfig', 'authentication-kubeconfig', '/k'],
  ['authorizationAlwaysAllowPaths', 'authorization-always-allow-paths', '/healthz'],
  ['clusterApiServers', 'cluster-api-servers', 'a:6443'],
  ['serviceCaFile', 'service-ca-file', '/c'],
  ['serviceNamespace', 'service-namespace', 'annex-system'],
  ['servicePort', 'service-port', '443'],
])('refuses %s outside of aggregated mode', (key, flag, value) => {
  expect(() => parseOptions({ [key]: [value] })).toThrow(`--${flag} requires --service-name`);
});

const AGGREGATED = { kubeconfig: ['cluster.kubeconfig'], serviceName: ['annex'] };

describe('flags without effect in aggregated mode', () => {
  test.each([
    ['clientCaFile', 'client-ca-file', 'ca.crt', 'the cluster authenticates users'],
    ['oidcClientId', 'oidc-client-id', 'annex', 'the cluster authenticates users'],
    ['authorizationMode', 'authorization-mode', 'RBAC', 'the cluster authorizes requests'],
    ['controllers', 'controllers', '*', 'the cluster runs the controllers'],
  ])('%s fails the start', (key, flag, value, why) => {
    expect(() => parseOptions({ ...AGGREGATED, [key]: [value] })).toThrow(
      `--${flag} has no effect in aggregated mode: ${why}`,
    );
  });

  test('cache TTLs of reviews have an effect', () => {
    const options = parseOptions({ ...AGGREGATED, authorizationWebhookCacheAuthorizedTtl: ['1m'] });
    expect(options.authorizationWebhookCacheAuthorizedTtl).toBe(60_000);
  });
});
