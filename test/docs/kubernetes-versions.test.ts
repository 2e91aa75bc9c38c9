import { readFileSync } from 'node:fs';
import { FeatureGates } from '../../src/util/feature-gates.js';

interface GateState {
  readonly since: string;
  readonly stage: string;
  readonly default: boolean;
  readonly locked?: boolean;
}

const reference = JSON.parse(readFileSync('data/gates.json', 'utf8')) as Readonly<Record<string, readonly GateState[]>>;
const page = readFileSync('docs/kubernetes-versions.md', 'utf8');

/** Gates that Annex sets otherwise, as the page says. */
const DIFFERENT = new Set(['WatchList', 'DeclarativeValidation']);
/** Gates that kube-apiserver has removed, and releases of Annex still promise. */
const KEPT = ['AuthorizeNodeWithSelectors', 'AuthorizeWithSelectors', 'StructuredAuthenticationConfiguration'];

const minorOf = ({ since }: GateState): number => Number(since.split('.')[1]);

/** Returns the gates of an emulated version: stage and default by name, for those that exist in it. */
function ours(emulation: number): Map<string, string> {
  const gates = new FeatureGates();
  gates.emulate({ emulation, minCompatibility: emulation });
  return new Map([...gates.entries()].map(({ name, stage, enabled }) => [name, `${stage} ${String(enabled)}`]));
}

const known = [...ours(37).keys()];

test.each([34, 35, 36, 37])('the gates have the stages of kube-apiserver 1.%i', (emulation) => {
  const wanted = known.flatMap((name) => {
    const state = reference[name]?.findLast((one) => minorOf(one) <= emulation);
    if (state === undefined || DIFFERENT.has(name)) return [];
    return [[name, `${state.stage === 'GA' ? '' : state.stage} ${String(state.default)}`] as const];
  });
  const found = [...ours(emulation)].filter(([name]) => !DIFFERENT.has(name) && !KEPT.includes(name));
  expect(new Map(found)).toEqual(new Map(wanted));
});

test('the page says why each other gate is missing', () => {
  const rows = [...page.matchAll(/^\| (\w+) \| (.+) \|$/gm)].map(([, name]) => name ?? '');
  const listed = rows.filter((name) => Object.hasOwn(reference, name));
  expect(listed.sort()).toEqual(
    Object.keys(reference)
      .filter((name) => !known.includes(name as never))
      .sort(),
  );
  expect(known.filter((name) => !Object.hasOwn(reference, name)).sort()).toEqual(KEPT);
});
