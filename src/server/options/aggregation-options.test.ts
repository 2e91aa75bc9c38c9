import { FlagError } from './flags.js';
import { isAggregated, validateAggregationOptions } from './aggregation-options.js';

const STANDALONE = {
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
