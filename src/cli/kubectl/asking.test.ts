import { askedFor, checkApplied, orderOfPath } from './asking.js';
import { Discovery, type Resource } from './discovery.js';

test.each([
  ['.metadata.name', 'object.metadata.name'],
  ['{.metadata.creationTimestamp}', 'object.metadata.creationTimestamp'],
  ['summary.fail', 'object.summary.fail'],
  ['.metadata.labels.app', "object.metadata.labels['app']"],
  ['.metadata.labels.app\\.kubernetes\\.io/name', "object.metadata.labels['app.kubernetes.io/name']"],
  [".metadata.annotations['a/b']", "object.metadata.annotations['a/b']"],
  ['.spec.items[0].size', 'object.spec.items[0].size'],
  ['.status.containerStatuses[0].restartCount', 'object.status.containerStatuses[0].restartCount'],
])('the path %s of --sort-by is the order %s', (path, order) => {
  expect(orderOfPath(path)).toBe(order);
});

test.each(['', '.items[*].name', '.items[?(@.a==1)].b', '..name', '.a[-1:]'])('%s is no path of fields', (path) => {
  expect(() => orderOfPath(path)).toThrow('write an expression with --order-by');
});

test('what is asked', () => {
  expect(askedFor({ where: 'true', sortBy: '.a' }, true)).toEqual({
    where: 'true',
    orderBy: 'object.a',
    count: 'exact',
  });
  expect(() => askedFor({ where: ' ' })).toThrow('--where: the expression is empty');
  expect(() => askedFor({ orderBy: 'a', sortBy: '.a' })).toThrow('exclude each other');
});

describe('an answer is used only if the server applied what was asked', () => {
  const resource = (group: string, name: string): Resource => ({
    ...{ group, name, version: 'v1', singular: name, kind: 'Kind', shortNames: [], categories: [] },
    namespaced: true,
    verbs: [],
  });
  const reports = resource('wgpolicyk8s.io', 'policyreports');
  const annex = Discovery.of([reports, resource('kubeannex.io', 'resourcedefinitions')]);
  const other = Discovery.of([reports]);
  const asked = { where: 'true', count: 'exact' };

  test('all of it', () => {
    expect(() => checkApplied(asked, { 'annex-applied': 'where, count' }, annex, reports)).not.toThrow();
  });
  test.each<[string, Record<string, string>, Discovery, string]>([
    ['a part', { 'annex-applied': 'where' }, annex, 'did not apply the count'],
    [
      'nothing by an Annex',
      {},
      annex,
      'policyreports.wgpolicyk8s.io is not served by Annex; the group wgpolicyk8s.io belongs to',
    ],
    [
      'nothing by another server',
      {},
      other,
      'did not apply --where and the count, and its answer is not used: it is no Annex',
    ],
  ])('%s', (_, headers, discovery, message) => {
    expect(() => checkApplied(asked, headers, discovery, reports)).toThrow(message);
  });
});
