import { FakeClock } from '../../../test/fakes/util/clock.js';
import { printed, resourceList } from '../../quota/resource-list.js';
import { usageUpperBound, RecentCharges } from './recent-charges.js';

const quota = (version: number, maps: string) => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { namespace: 'n', name: 'q', resourceVersion: String(version) },
  status: { used: { configmaps: maps, secrets: '1' } },
});

let clock: FakeClock;
let charges: RecentCharges;
const recent = (): string => printed(charges.of('n/q'));

beforeEach(() => {
  clock = new FakeClock();
  charges = new RecentCharges(clock, 1000);
  charges.see(quota(1, '2'));
  clock.advance(1000);
});

test('all usage of a quota that was unknown counts as recently charged', () => {
  const fresh = new RecentCharges(clock, 1000);
  fresh.see(quota(1, '2'));
  expect(printed(fresh.of('n/q'))).toBe('configmaps=2,secrets=1');
  expect(recent()).toBe('');
});

test('charges add up for a second each; released usage is not a charge', () => {
  charges.see(quota(2, '5'));
  clock.advance(600);
  charges.see(quota(3, '3'));
  charges.see(quota(4, '4'));
  expect(recent()).toBe('configmaps=4,secrets=0');
  clock.advance(400);
  expect(recent()).toBe('configmaps=1,secrets=0');
  clock.advance(600);
  expect(recent()).toBe('');
});

test('a known or older version of a quota is not a charge', () => {
  charges.see(quota(3, '2'));
  charges.see(quota(2, '1'));
  charges.see(quota(3, '2'));
  expect(recent()).toBe('');
});

test.each([
  ['recent charges may arrive', { maps: '4' }, { maps: '1' }, { maps: '3' }, 'maps=4'],
  ['only recent charges may', { maps: '4' }, { maps: '1' }, { maps: '1' }, 'maps=2'],
  ['some of it is stored already', { maps: '4' }, { maps: '3' }, { maps: '3' }, 'maps=4'],
  ['nothing was charged recently', { maps: '4' }, { maps: '1' }, {}, 'maps=1'],
  ['more is stored than was charged', { maps: '1' }, { maps: '3' }, { maps: '1' }, 'maps=3'],
  ['it was not counted before', {}, { maps: '3' }, {}, 'maps=3'],
  ['it is no longer limited', { maps: '4', pods: '1' }, { maps: '4' }, { pods: '1' }, 'maps=4'],
])('the upper bound of the usage if %s', (_, before, counted, charged, expected) => {
  const used = usageUpperBound(resourceList(before), resourceList(counted), resourceList(charged));
  expect(printed(used)).toBe(expected);
});
