import type { JsonObject } from '../apimachinery/json/json.js';
import { lineOf } from './finding.js';
import { checkLeftOvers } from './left-overs.js';

const GROUP = 'example.com';
const ADOPTIONS = '/apis/kubeannex.io/v1alpha1/adoptions';
const OURS = '/apis/kubeannex.io/v1/resourcedefinitions';
const THEIRS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';

const definition = (annotations: JsonObject, more: JsonObject = {}): JsonObject => ({
  metadata: { name: `widgets.${GROUP}`, annotations, ...more },
  spec: { group: GROUP },
});
const withdrawn = { 'kubeannex.io/served-versions': 'v1' };
const served = { 'kubeannex.io/adoption': 'Served' };
const policy = { metadata: { name: `annex-adoption.${GROUP}` } };

test.each<[string, Record<string, JsonObject[]>, RegExp]>([
  ['nothing', {}, /^left-overs of adoptions: ok$/],
  [
    'a copy that an Adoption manages',
    { [ADOPTIONS]: [{ metadata: { name: GROUP } }], [OURS]: [definition(served)], [THEIRS]: [definition(withdrawn)] },
    /warning \(Annex serves example\.com, .*: the Adoption's spec\.source\.retain: false frees it\)$/,
  ],
  [
    'a copy whose Adoption was deleted',
    { [OURS]: [definition(served)], [THEIRS]: [definition(withdrawn)], [POLICIES]: [policy] },
    /warning \(Annex serves example\.com, .*: kubectl delete crd widgets\.example\.com frees it\)$/,
  ],
  [
    'a copy that is being deleted',
    { [OURS]: [definition(served)], [THEIRS]: [definition(withdrawn, { deletionTimestamp: 'now' })] },
    /warning \(the cluster's copy of example\.com is being deleted, but objects with finalizers block the deletion\)$/,
  ],
  [
    'a policy alone',
    { [OURS]: [definition(served)], [POLICIES]: [policy, { metadata: { name: 'else' } }] },
    /warning \(the ValidatingAdmissionPolicy annex-adoption\.example\.com denies writes to example\.com/,
  ],
  [
    'a group that is not served',
    { [THEIRS]: [definition(withdrawn)] },
    /failed: no version of widgets\.example\.com is served, and Annex does not serve example\.com; fix: /,
  ],
  [
    'a definition that no Adoption moves on',
    { [OURS]: [definition({ 'kubeannex.io/adoption': 'Switching' })] },
    /failed: widgets\.example\.com accepts no writes, but no Adoption is moving it; fix: /,
  ],
])('%s', async (_, lists, line) => {
  const finding = await checkLeftOvers({
    call: (__, path) => Promise.resolve({ status: 200, body: { items: lists[path] ?? [] } }),
    must: () => Promise.resolve(undefined),
  });
  expect(lineOf(finding)).toMatch(line);
});

test('a refused list skips the check', async () => {
  const refused = { call: () => Promise.resolve({ status: 403, body: {} }), must: () => Promise.resolve(undefined) };
  expect((await checkLeftOvers(refused)).verdict).toBe('skipped');
});
