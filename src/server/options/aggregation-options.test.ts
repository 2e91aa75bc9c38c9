import { parseOptions } from './command-line.js';

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
