import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { type Answer, dig, digList, digText, treeOf } from '../client.js';
import { eventually } from '../server.js';
import { created, GROUP, pathOf, shortly, UndoStand, WIDGET_TYPE } from './stand.js';

const RETENTIONS = '/apis/kubeannex.io/v1alpha1/retentions';
const NAME = `widgets.${GROUP}`;

describe('Retention', () => {
  // Everything leaves the window at once.
  const stand = new UndoStand('embedded', { historyWindow: 1000 });
  const post = (name: string, spec: JsonObject): Promise<Answer> =>
    stand.http.post(RETENTIONS, { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Retention', metadata: { name }, spec });
  const retention = async (): Promise<JsonObject> => treeOf(await stand.http.get(`${RETENTIONS}/${NAME}`));
  const condition = (object: JsonObject, type: string): unknown =>
    digList(object, 'status', 'conditions').find((one) => dig(one, 'type') === type);

  beforeAll(() => stand.define());

  test.each<[string, JsonObject, string]>([
    ['widgets', { resource: WIDGET_TYPE }, 'metadata.name must be that of its type'],
    [NAME, { resource: WIDGET_TYPE, keepDeletedFor: '7d' }, 'must be a duration such as 168h or 30m, not negative'],
    [NAME, { resource: WIDGET_TYPE, keepRevisionsFor: '-1h' }, 'must be a duration such as 168h or 30m, not negative'],
    [NAME, { resource: WIDGET_TYPE, maxRevisionsPerObject: -1 }, 'spec.maxRevisionsPerObject'],
    [NAME, { resource: WIDGET_TYPE, maxBytes: '-1Gi' }, 'must be a quantity such as 1Gi, not negative'],
    [NAME, { resource: WIDGET_TYPE, maxBytes: 'much' }, 'must be a quantity such as 1Gi, not negative'],
  ])('%s %j is 422', async (name, spec, message) => {
    const answer = await post(name, spec);
    expect([answer.status, digText(treeOf(answer), 'message')]).toEqual([422, expect.stringContaining(message)]);
  });

  test('keeps superseded revisions beyond the window, up to its number, and says how many', async () => {
    expect(
      created(await post(NAME, { resource: WIDGET_TYPE, keepRevisionsFor: '720h', maxRevisionsPerObject: 3 })),
    ).toMatchObject({
      spec: { keepDeletedFor: '168h', maxBytes: '1Gi' },
    });
    await eventually('the policy', async () => condition(await retention(), 'Ready'));
    await stand.widget('n1', 'a', { size: 0 });
    for (let size = 1; size <= 6; size++) await stand.patched(pathOf('n1', 'a'), { spec: { size } });
    const listed = async (): Promise<string[]> =>
      (
        await stand.revisions('namespaces/n1/objectrevisions', {
          fieldSelector: `object.resource=${NAME},object.name=a`,
        })
      ).map(shortly);
    // Three superseded revisions and the current one.
    await eventually('the history', async () => ((await listed()).length === 4 ? true : undefined));
    expect((await listed()).every((one) => one.startsWith('Update a'))).toBe(true);
    expect((await stand.http.get('/metrics')).text).toMatch(/^annex_history_states\{kind="revisions"\} 3$/m);
    // Another change makes the status follow at once.
    await stand.patched(`${RETENTIONS}/${NAME}`, { spec: { maxRevisionsPerObject: 4 } });
    await eventually('the status', async () =>
      dig(await retention(), 'status', 'revisions', 'count') === 3 ? true : undefined,
    );
    expect(condition(await retention(), 'WithinBytes')).toMatchObject({ status: 'True' });
    const [, earlier] = (
      await stand.revisions('namespaces/n1/objectrevisions', { fieldSelector: `object.resource=${NAME},object.name=a` })
    ).map((one) => digText(one, 'revision'));
    const to = { revision: earlier ?? '' };
    expect(await stand.restore({ resource: WIDGET_TYPE, namespace: 'n1', names: ['a'], to })).toMatchObject({
      phase: 'Complete',
      restored: 1,
    });
    expect(dig(treeOf(await stand.http.get(pathOf('n1', 'a'))), 'spec', 'size')).toBe(4);
  });

  test('what a shorter one no longer keeps stays for 24 hours', async () => {
    await stand.patched(`${RETENTIONS}/${NAME}`, { spec: { keepRevisionsFor: '0s' } });
    const pending = await eventually('the status', async () => {
      const found = dig(await retention(), 'status', 'pendingPurge') as JsonObject | undefined;
      return found?.['objects'] === 3 ? found : undefined;
    });
    const left = Date.parse(digText(pending, 'at')) - Date.now();
    expect(Math.abs(left - 24 * 3_600_000)).toBeLessThan(3_600_000);
    expect((await stand.http.send({ method: 'DELETE', path: `${RETENTIONS}/${NAME}` })).status).toBe(200);
    await stand.widget('n1', 'b', { size: 1 });
    await stand.remove(pathOf('n1', 'b'));
    expect((await stand.restore({ resource: WIDGET_TYPE, namespace: 'n1', names: ['b'] }))['restored']).toBe(1);
  });

  test('its type cannot be changed', async () => {
    created(await post(NAME, { resource: WIDGET_TYPE }));
    const answer = await stand.http.send({
      method: 'PATCH',
      path: `${RETENTIONS}/${NAME}`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { resource: { group: '' } } },
    });
    expect([answer.status, digText(treeOf(answer), 'message')]).toEqual([
      422,
      expect.stringContaining('field is immutable'),
    ]);
  });
});
