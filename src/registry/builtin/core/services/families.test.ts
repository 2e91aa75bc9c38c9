import type { JsonObject } from '../../../../apimachinery/json/json.js';
import { changedAddressErrors, dropAddresses, fillFamilies, followClusterIP } from './families.js';

const headless: JsonObject = {
  type: 'ClusterIP',
  selector: { a: 'b' },
  clusterIP: 'None',
  clusterIPs: ['None'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
};

/** The errors that a kube-apiserver with a single IPv4 service range returns. */
const cases: readonly (readonly [string, JsonObject, JsonObject | undefined, readonly string[]])[] = [
  [
    'two families are demanded of one',
    { ...headless, ipFamilyPolicy: 'RequireDualStack' },
    headless,
    ['spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services'],
  ],
  [
    'a family that is not there',
    { ...headless, ipFamilies: ['IPv6'] },
    headless,
    ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
  ],
  [
    'no address',
    { ...headless, clusterIP: 'zzz' },
    headless,
    ['spec.clusterIPs[0]: Invalid value: "zzz": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  ],
  [
    'an unknown family, on creation',
    { type: 'ClusterIP', ipFamilies: ['x'] },
    undefined,
    ['spec.ipFamilies[0]: Unsupported value: "x": supported values: "IPv4", "IPv6"'],
  ],
  ['nothing changes', { ...headless }, headless, []],
];

test.each(cases)('%s', (_, spec, before, expected) => {
  followClusterIP(spec, before);
  const object = { apiVersion: 'v1', kind: 'Service', metadata: {}, spec };
  expect(fillFamilies(object, before).map(String)).toEqual(expected);
});

test('a headless service without a selector has both families', () => {
  const spec: JsonObject = { type: 'ClusterIP', clusterIP: 'None' };
  followClusterIP(spec, undefined);
  expect(fillFamilies({ apiVersion: 'v1', kind: 'Service', metadata: {}, spec }, undefined)).toEqual([]);
  expect(spec).toMatchObject({
    clusterIPs: ['None'],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
  });
});

test('an update that omits the cluster IP keeps it, and one that changes it is refused', () => {
  const before: JsonObject = { type: 'ClusterIP', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] };
  const spec: JsonObject = { type: 'ClusterIP' };
  followClusterIP(spec, before);
  expect(spec).toEqual(before);
  const changed: JsonObject = { ...before, clusterIP: 'None' };
  followClusterIP(changed, before);
  expect(changedAddressErrors(changed, before).map(String)).toEqual([
    'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
  ]);
});

test('a change to ExternalName drops the addresses', () => {
  const spec: JsonObject = { ...headless, type: 'ExternalName', externalName: 'a.b' };
  dropAddresses(spec, headless);
  expect(spec).toEqual({ type: 'ExternalName', selector: { a: 'b' }, externalName: 'a.b' });
});
