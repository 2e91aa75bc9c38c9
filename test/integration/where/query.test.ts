import type { JsonObject, JsonValue } from '../../../src/apimachinery/json/json.js';
import { type Answer, dig, digList, digText, treeOf } from '../client.js';
import { eventually, NOBODY } from '../server.js';
import { GROUP, Stand, STORES } from './stand.js';

const API = '/apis/kubeannex.io/v1alpha1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const BOXES = { group: GROUP, resource: 'boxes' };

describe.each(STORES)('Query and LocalQuery, %s', (store) => {
  const stand = new Stand(store);

  beforeAll(async () => {
    const labels = { team: 'red' };
    await stand.create(
      'n1',
      'a',
      { size: 9007199254740993n, color: 'red', ratio: 0.1, lasts: '90s', memory: '1Gi' },
      { labels },
    );
    await stand.create('n1', 'b', { size: 9007199254740993n, color: 'blue', ratio: 0.2, port: 'http' }, { labels });
    await stand.create('n2', 'c', { size: -1, color: 'red', ratio: 0.3, lasts: '1h', memory: '512Mi', port: 80 });
    await stand.create('n2', 'd', { color: 'red', until: '2030-01-01T00:00:00Z' });
  });

  const ask = (spec: JsonObject, namespace = '', headers = {}, token?: string): Promise<Answer> => {
    const kind = namespace === '' ? 'Query' : 'LocalQuery';
    const path = namespace === '' ? `${API}/queries` : `${API}/namespaces/${namespace}/localqueries`;
    const body = { apiVersion: 'kubeannex.io/v1alpha1', kind, metadata: {}, spec: { source: BOXES, ...spec } };
    return stand.http.send({ method: 'POST', path, body, headers, ...(token !== undefined && { token }) });
  };
  const status = async (spec: JsonObject, namespace = ''): Promise<JsonObject> => {
    const answer = await ask(spec, namespace);
    if (answer.status !== 201) throw new Error(answer.text);
    return dig(treeOf(answer), 'status') as JsonObject;
  };
  /** The rows as they are written, so that integers are exact. */
  const rows = async (spec: JsonObject, namespace = ''): Promise<string> => {
    const answer = await ask(spec, namespace);
    return /"rows":(.*?),"evaluated"/.exec(answer.text)?.[1] ?? answer.text;
  };

  const groupBy = [{ name: 'color', expression: 'object.spec.color' }];

  test('groups, aggregates, and says at which revision', async () => {
    const found = await status({
      groupBy,
      aggregates: [
        { name: 'boxes', count: {} },
        { name: 'size', sum: { expression: 'object.spec.size' } },
      ],
      orderBy: [{ name: 'boxes', descending: true }],
    });
    expect(found).toMatchObject({
      columns: ['color', 'boxes', 'size'],
      evaluated: 4,
      failed: 1,
      example: 'boxes/n2/d: no such key: size',
      truncated: false,
    });
    const list = treeOf(await stand.get('boxes'));
    expect(digText(found, 'resourceVersion')).toBe(digText(list, 'metadata', 'resourceVersion'));
    expect(await rows({ groupBy, aggregates: [{ name: 'size', sum: { expression: 'object.spec.size' } }] })).toBe(
      '[["blue",9007199254740993],["red",9007199254740992]]',
    );
  });

  test.each([
    ['count', '{}', '[[4]]'],
    ['sum', 'object.spec.ratio', '[[0.6]]'],
    ['sum', 'duration(object.spec.lasts)', '[["3690s"]]'],
    ['sum', 'quantity(object.spec.memory)', '[["1610612736"]]'],
    ['sum', 'object.?spec.?size', '[[18014398509481985]]'],
    ['sum', 'object.spec.port', '[[80]]'],
    ['sum', 'object.spec.dashed__dash__name', '[[0]]'],
    ['min', 'object.spec.size', '[[-1]]'],
    ['max', 'object.spec.size', '[[9007199254740993]]'],
    ['min', 'object.spec.until', '[["2030-01-01T00:00:00Z"]]'],
    ['min', 'object.spec.port', '[[null]]'],
    ['max', 'object.spec.color', '[["red"]]'],
    ['min', 'object.spec.dashed__dash__name', '[[null]]'],
    ['average', 'object.spec.size', '[[6004799503160661.667]]'],
    ['average', 'object.spec.ratio', '[[0.2]]'],
    ['average', 'object.spec.dashed__dash__name', '[[null]]'],
    ['max', 'object.metadata.creationTimestamp < now', '[[true]]'],
  ])('%s of %s', async (aggregate, expression, wanted) => {
    const aggregates = [{ name: 'x', [aggregate]: aggregate === 'count' ? {} : { expression } }];
    const found = await rows({ aggregates });
    if (aggregate === 'average' && wanted.includes('.'))
      expect(dig(JSON.parse(found) as JsonValue, 0, 0)).toBeCloseTo(
        Number(dig(JSON.parse(wanted) as JsonValue, 0, 0)),
        9,
      );
    else expect(found).toBe(wanted);
  });

  test('top, order, limit and selection', async () => {
    const top = { expression: 'object.metadata.name', orderBy: 'object.spec.ratio desc', count: 2 };
    expect(await rows({ groupBy, aggregates: [{ name: 'worst', top }] })).toBe('[["blue",["b"]],["red",["c","a"]]]');
    expect(await rows({ groupBy, aggregates: [{ name: 'n', count: {} }], limit: 1 })).toBe('[["blue",1]]');
    const byCount = { groupBy, aggregates: [{ name: 'n', count: {} }], orderBy: [{ name: 'n', descending: true }] };
    expect(await rows({ ...byCount, limit: 1 })).toBe('[["red",3]]');
    expect(await rows({ ...byCount, labelSelector: { matchLabels: { team: 'red' } } })).toBe('[["blue",1],["red",1]]');
    expect(await rows({ ...byCount, where: 'object.spec.size > 0' })).toBe('[["blue",1],["red",1]]');
    expect(await status({ ...byCount, where: 'object.spec.size > 0' })).toMatchObject({ evaluated: 4, failed: 1 });
    expect(await rows({ ...byCount, where: 'object.spec.size > 99' }, 'n2')).toBe('[]');
    expect(await rows({ ...byCount }, 'n1')).toBe('[["blue",1],["red",1]]');
    expect(await rows({ aggregates: [{ name: 'n', count: {} }], where: 'false' })).toBe('[[0]]');
    expect(
      await rows({
        groupBy: [{ name: 'size', expression: 'object.?spec.?size' }],
        orderBy: [{ name: 'size', descending: true }],
      }),
    ).toBe('[[9007199254740993],[-1],[null]]');
    expect(await status({ groupBy, source: { ...BOXES, version: 'v2' } })).toMatchObject({ rows: [['blue'], ['red']] });
    expect(
      await rows({
        source: { resource: 'namespaces' },
        groupBy: [{ name: 'n', expression: "object.metadata.name.startsWith('n')" }],
      }),
    ).toBe('[[false],[true]]');
  });

  test.each<readonly [string, JsonObject, string]>([
    ['spec.where', { where: 'object.sise > 1' }, "1:7: undefined field 'sise'"],
    ['spec.where', { where: 'object.spec.size' }, 'must evaluate to bool but got int'],
    ['spec.groupBy[1].expression', { groupBy: [...groupBy, { name: 'x', expression: '1 +' }] }, 'Syntax error'],
    ['spec.groupBy[0].expression', { groupBy: [{ name: 'x', expression: 'object.spec.tags' }] }, 'but got list'],
    ['spec.groupBy[1].name', { groupBy: [...groupBy, ...groupBy] }, 'Duplicate value'],
    ['spec.groupBy[0].name', { groupBy: [{ name: 'a-b', expression: '1' }] }, 'should match'],
    ['spec.aggregates[0]', { aggregates: [{ name: 'x' }] }, 'exactly one of'],
    ['spec.aggregates[0]', { aggregates: [{ name: 'x', count: {}, max: { expression: '1' } }] }, 'exactly one of'],
    [
      'spec.aggregates[0].sum.expression',
      { aggregates: [{ name: 'x', sum: { expression: 'object.spec.color' } }] },
      'but got string',
    ],
    [
      'spec.aggregates[0].average.expression',
      { aggregates: [{ name: 'x', average: { expression: "duration('1s')" } }] },
      'must evaluate to int, uint or double',
    ],
    [
      'spec.aggregates[0].top.orderBy',
      { aggregates: [{ name: 'x', top: { expression: '1', orderBy: 'self.x' } }] },
      'hint: the object is called',
    ],
    ['spec.orderBy[0].name', { groupBy, orderBy: [{ name: 'size' }] }, 'Not found'],
    ['spec.limit', { groupBy, limit: 10001 }, 'less than or equal to 10000'],
    [
      'spec.labelSelector.matchExpressions[0].operator',
      { labelSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } },
      'not a valid selector operator',
    ],
    ['spec.source', { source: { group: GROUP, resource: 'bags' } }, 'is not served'],
    ['spec.source', { source: { ...BOXES, version: 'v9' } }, 'is not served'],
    ['spec.source', { source: { group: 'kubeannex.io', resource: 'queries' } }, 'is not served, or cannot be listed'],
  ])('422: %s of %j', async (field, spec, message) => {
    const answer = await ask(spec);
    const causes = digList(treeOf(answer), 'details', 'causes');
    expect([answer.status, causes]).toEqual([
      422,
      expect.arrayContaining([expect.objectContaining({ field, message: expect.stringContaining(message) as string })]),
    ]);
  });

  test('LocalQuery is about a namespaced type', async () => {
    const answer = await ask({ source: { resource: 'namespaces' } }, 'n1');
    expect([answer.status, digText(treeOf(answer), 'message')]).toEqual([
      422,
      expect.stringContaining('spec.source: Invalid value: "namespaces": has no namespaces'),
    ]);
  });

  test('needs the right to create queries and to list the source', async () => {
    const grant = async (name: string, rules: readonly JsonObject[]): Promise<void> => {
      const subjects = [{ kind: 'User', name: 'jane' }];
      const roleRef = { kind: 'ClusterRole', name };
      await stand.http.post(`${RBAC}/clusterroles`, { metadata: { name }, rules });
      await stand.http.post(`${RBAC}/clusterrolebindings`, { metadata: { name }, subjects, roleRef });
    };
    const asJane = async (namespace = ''): Promise<readonly [number, string]> => {
      const answer = await ask({ groupBy }, namespace, {}, NOBODY);
      return [answer.status, answer.status === 201 ? '' : digText(treeOf(answer), 'message')];
    };
    expect((await asJane())[1]).toContain('cannot create resource "queries"');
    await grant('ask', [{ apiGroups: ['kubeannex.io'], resources: ['queries', 'localqueries'], verbs: ['create'] }]);
    const denied = `boxes.${GROUP} is forbidden: User "jane" cannot list resource "boxes" in API group "${GROUP}"`;
    await eventually('the right to ask', async () => (await asJane())[1].includes('cannot list') || undefined);
    expect(await asJane()).toEqual([403, `${denied} at the cluster scope`]);
    expect(await asJane('n1')).toEqual([403, `${denied} in the namespace "n1"`]);
    // Whether a type exists is told only to those who may list it.
    const unknown = await ask({ source: { group: GROUP, resource: 'bags' } }, '', {}, NOBODY);
    expect(unknown.status).toBe(403);
    await grant('list', [{ apiGroups: [GROUP], resources: ['boxes'], verbs: ['list'] }]);
    await eventually('the right to list', async () => (await asJane())[0] === 201 || undefined);
    expect(await asJane('n1')).toEqual([201, '']);
  });

  test('is created only, and described', async () => {
    for (const path of [`${API}/queries`, `${API}/namespaces/n1/localqueries`]) {
      expect([path, (await stand.http.get(path)).status]).toEqual([path, 405]);
      expect([path, (await stand.http.send({ method: 'DELETE', path })).status]).toEqual([path, 405]);
    }
    const { resources } = treeOf(await stand.http.get(API));
    expect(resources).toEqual(
      expect.arrayContaining([
        { name: 'queries', singularName: 'query', namespaced: false, kind: 'Query', verbs: ['create'] },
        { name: 'localqueries', singularName: 'localquery', namespaced: true, kind: 'LocalQuery', verbs: ['create'] },
      ]),
    );
    const v3 = treeOf(await stand.http.get('/openapi/v3/apis/kubeannex.io/v1alpha1'));
    const undescribed: string[] = [];
    const look = (of: JsonObject, at: string): void => {
      for (const [name, part] of Object.entries((of['properties'] ?? {}) as Record<string, JsonObject>)) {
        if (digText(part, 'description') === '' && dig(part, 'allOf') === undefined) undescribed.push(`${at}.${name}`);
        look(part, `${at}.${name}`);
        if (part['items'] !== undefined) look(part['items'] as JsonObject, `${at}.${name}[]`);
      }
    };
    for (const kind of ['Query', 'LocalQuery'])
      look(dig(v3, 'components', 'schemas', `io.kubeannex.v1alpha1.${kind}`) as JsonObject, kind);
    expect(undescribed).toEqual([]);
    expect(Object.keys(dig(v3, 'paths', `${API}/queries`) as JsonObject)).toContain('post');
  });

  test('field validation, YAML, dry run and unknown fields', async () => {
    const spec = { source: BOXES, groupBy, agregates: [] };
    const body = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Query', spec };
    const path = `${API}/queries`;
    const strict = await stand.http.send({ method: 'POST', path: `${path}?fieldValidation=Strict`, body });
    expect([strict.status, digText(treeOf(strict), 'message')]).toEqual([
      400,
      expect.stringContaining('unknown field "spec.agregates"'),
    ]);
    const warned = await stand.http.send({ method: 'POST', path: `${path}?dryRun=All`, body });
    expect([warned.status, warned.headers['warning']]).toEqual([201, expect.stringContaining('unknown field')]);
    const yaml = `apiVersion: kubeannex.io/v1alpha1\nkind: Query\nspec: {source: {group: ${GROUP}, resource: boxes}, aggregates: [{name: total, count: {}}]}\n`;
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' };
    const shown = await stand.http.send({ method: 'POST', path, body: yaml, headers });
    expect([shown.status, shown.text]).toEqual([201, expect.stringMatching(/rows:\n\s*- - 4\n/)]);
  });
});
