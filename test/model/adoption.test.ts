import { ALL, exploreAdoption, type AdoptionGuards } from './adoption.js';

const SCHEDULES = 1_500;

function failures(guards: AdoptionGuards): { readonly count: number; readonly told: string } {
  const told: string[] = [];
  for (let seed = 1; seed <= SCHEDULES && told.length < 5; seed++) {
    const [first] = exploreAdoption(seed, guards).violations;
    if (first !== undefined) told.push(`seed ${seed}: ${first}`);
  }
  return { count: told.length, told: told.join('\n') };
}

describe('the switch of an adoption, whatever stops wherever', () => {
  test('no acknowledged write is lost, and revisions never go back', () => {
    expect(failures(ALL)).toEqual({ count: 0, told: '' });
  });

  test('these schedules switch, give up, and acknowledge writes on both sides', () => {
    const explored = Array.from({ length: 300 }, (_, seed) => exploreAdoption(seed + 1, ALL));
    expect(explored.filter(({ served }) => served).length).toBeGreaterThan(50);
    expect(explored.filter(({ gaveUp }) => gaveUp).length).toBeGreaterThan(5);
    expect(explored.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(3_000);
    expect(explored.reduce((sum, { refused }) => sum + refused, 0)).toBeGreaterThan(300);
  });

  test.each<[string, Partial<AdoptionGuards>]>([
    [
      'where the fence goes before the second kube-apiserver routes here',
      { everyRoute: false, fenceStays: false, unserved: false },
    ],
    ['where nothing waits for requests under way', { drain: false }],
    ['where late commits are not carried over', { carryOver: false }],
    ['without fence and unserved versions', { fence: false, unserved: false }],
    ['where two leaders both write the status', { compare: false }],
  ])('%s, a write is lost', (_, missing) => {
    const { count, told } = failures({ ...ALL, ...missing });
    expect(count).toBeGreaterThan(0);
    expect(told).toMatch(/lost|went back/);
  });
});
