import type { JsonObject } from '../../apimachinery/json/json.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { clusterOf } from '../../../test/fakes/cli/cluster.js';
import { ADOPTIONS } from './command.js';
import { release, type ReleaseOptions } from './release.js';

const GROUP = 'example.com';
const ADOPTION = `${ADOPTIONS}/${GROUP}`;
const OPTIONS: ReleaseOptions = {
  dryRun: false,
  dependents: 'Refuse',
  skipRaise: false,
  serviceAccount: 'annex-system/annex',
  timeout: 60,
};
const BORN = { name: 'b', uid: 'born', creationTimestamp: '2026-02-01T00:00:00Z' };
const DEFINITION = { spec: { group: GROUP, names: { plural: 'widgets' }, versions: [{ name: 'v1', served: true }] } };

let printed: string[];
beforeEach(() => {
  printed = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  process.exitCode = undefined;
});
afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = undefined;
});

interface Seen {
  readonly patches: readonly (JsonObject | undefined)[];
  readonly isDeleted: boolean;
  readonly isBlocked: boolean;
  readonly said: string;
}

/** Releases a group with one object that was created in Annex. `mayListAll`: whether Annex's service account may list every type. */
async function released(
  given: Partial<ReleaseOptions>,
  { mayListAll = false, ownerUid = 'other', phase = 'Served' } = {},
): Promise<Seen> {
  const patches: (JsonObject | undefined)[] = [];
  let isDeleted = false;
  const owner = { apiVersion: `${GROUP}/v1`, kind: 'Widget', uid: ownerUid };
  const answers: Record<string, JsonObject> = {
    [ADOPTION]: {
      status: { phase, conditions: [{ type: 'Switched', lastTransitionTime: '2026-01-01T00:00:00Z' }] },
    },
    '/apis/kubeannex.io/v1/resourcedefinitions': { items: [DEFINITION] },
    [`/apis/${GROUP}/v1/widgets`]: { metadata: { resourceVersion: '9' }, items: [{ metadata: BORN }] },
    '/api/v1/namespaces': { metadata: { resourceVersion: '10' }, items: [] },
    '/apis': { groups: [] },
    '/api/v1': { resources: [{ name: 'configmaps', verbs: ['list'] }] },
    '/api/v1/configmaps': { items: [{ metadata: { namespace: 'n', name: 'c', ownerReferences: [owner] } }] },
  };
  const cluster = clusterOf(
    answers,
    () => mayListAll,
    (method, path, body) => {
      if (method === 'PATCH') {
        patches.push(body);
        const conditions = [{ type: 'Returned', status: 'True', message: 'the cluster serves the group again' }];
        answers[ADOPTION] = { status: { phase: 'InSync', conditions } };
      }
      if (method === 'DELETE' && path === ADOPTION) {
        isDeleted = true;
        delete answers[ADOPTION];
      }
    },
  );
  await release(cluster, new FakeClock(), GROUP, { ...OPTIONS, ...given });
  return { patches, isDeleted, isBlocked: process.exitCode === 1, said: printed.join('') };
}

test.each<[string, Partial<ReleaseOptions>, boolean, ReleaseOptions['dependents']]>([
  ['Annex looks for dependents where it may list everything', {}, true, 'Refuse'],
  ['the administrator has looked for them where Annex may not', {}, false, 'Abandon'],
  ['Repoint is asked for', { dependents: 'Repoint' }, true, 'Repoint'],
  ['Abandon is asked for', { dependents: 'Abandon' }, true, 'Abandon'],
])('%s', async (_, given, mayListAll, dependents) => {
  const { patches, isDeleted, said } = await released(given, { mayListAll });
  expect(patches).toEqual([{ spec: { servedBy: 'Cluster', dependents, skipRaise: false } }]);
  expect(isDeleted).toBe(true);
  expect(said).toContain('1 were created there');
  expect(said).toContain('the cluster serves the group again\nDone.\n');
});

test('dependents outside the group block the release, and nothing is changed', async () => {
  const { patches, isDeleted, isBlocked, said } = await released({}, { mayListAll: true, ownerUid: BORN.uid });
  expect([patches, isDeleted, isBlocked]).toEqual([[], false, true]);
  expect(said).toContain('Blocked: set --dependents to Repoint or Abandon');
});

test('a dry run changes nothing', async () => {
  const { patches, isDeleted, isBlocked } = await released({ dryRun: true });
  expect([patches, isDeleted, isBlocked]).toEqual([[], false, false]);
});

test('a group that was never switched is not returned: its copy is deleted', async () => {
  const { patches, isDeleted, said } = await released({}, { phase: 'InSync' });
  expect([patches, isDeleted]).toEqual([[], true]);
  expect(said).toContain('The copy (nothing) is deleted with the Adoption');
});
