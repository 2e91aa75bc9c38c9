import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ParamAccess } from '../../src/registry/builtin/admissionregistration/shared/param-access.js';
import type { EscalationDependencies } from '../../src/registry/builtin/rbac/escalation.js';
import { builtinKinds } from '../../src/registry/kinds.js';
import { FLAGS } from '../../src/server/options/options.js';
import type { Flag } from '../../src/server/options/flags.js';
import { type Element, type Elements, removedFromApi, removedTooEarly, type Types } from './policy.js';

const ROOT = join(__dirname, '../..');

const RECORDED = /^(\d+)\.(\d+)\.json$/;
const order = (name: string): number => {
  const [, major, minor] = RECORDED.exec(name) ?? [];
  return Number(major) * 1000 + Number(minor);
};

type Release = Elements & { readonly types: Types };

function recorded(): Release[] {
  const names = readdirSync(__dirname).filter((name) => RECORDED.test(name));
  names.sort((a, b) => order(a) - order(b));
  return names.map((name) => JSON.parse(readFileSync(join(__dirname, name), 'utf8')) as Release);
}

function ofThisTree(): Release {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['hack/release-elements.mjs'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Release;
}

/** Fields behind an alpha gate, which Kubernetes removed. */
const ALPHA = ['io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus: resources is removed'];

const STABLE: Element = { stage: 'STABLE' };
const GOING: Element = { stage: 'STABLE', deprecated: true };

describe('a removed element', () => {
  const cases: readonly (readonly [string, string, readonly (Element | undefined)[], string[]])[] = [
    [
      'a flag that nobody deprecated',
      'flags',
      [STABLE, STABLE],
      ['flags: x is removed without having been deprecated'],
    ],
    [
      'a flag, deprecated by the last release',
      'flags',
      [STABLE, GOING],
      ['flags: x is removed 1 release(s) too early'],
    ],
    ['a flag, deprecated two releases ago', 'flags', [GOING, GOING], []],
    ['an option of a command likewise', 'commands', [STABLE, GOING], ['commands: x is removed 1 release(s) too early']],
    ['an option, deprecated two releases ago', 'commands', [GOING, GOING], []],
    [
      'a stable metric, deprecated two releases ago',
      'metrics',
      [STABLE, STABLE, GOING, GOING],
      ['metrics: x is removed 1 release(s) too early'],
    ],
    [
      'a stable metric of three releases',
      'metrics',
      [GOING, GOING, GOING],
      ['metrics: x is removed 1 release(s) too early'],
    ],
    ['a stable metric after three releases', 'metrics', [STABLE, GOING, GOING, GOING], []],
    ['what an earlier release removed', 'flags', [GOING, GOING, undefined], []],
    ['an alpha metric', 'metrics', [{ stage: 'ALPHA' }], []],
    ['a beta gate', 'gates', [{ stage: 'BETA' }], ['gates: x is removed without having been deprecated']],
    [
      'a gate of the last release',
      'gates',
      [{ stage: 'GA', deprecated: true }],
      ['gates: x is removed 1 release(s) too early'],
    ],
    ['a gate that is GA for two releases', 'gates', Array<Element>(2).fill({ stage: 'GA', deprecated: true }), []],
    ['a gate of a dropped feature', 'gates', [{ stage: 'BETA' }, { stage: 'DEPRECATED', deprecated: true }], []],
  ];
  test.each(cases)('%s', (_, kind, history, expected) => {
    const releases = history.map((element): Elements => ({ [kind]: element === undefined ? {} : { x: element } }));
    expect(removedTooEarly(releases, {})).toEqual(expected);
    const [, ...later] = releases;
    if (later.length > 0) expect(removedTooEarly(releases, { [kind]: { x: STABLE } })).toEqual([]);
  });
});

test('a type keeps its fields, and a stable one stays', () => {
  const release: Types = { 'io.g.v1.A': 'a b', 'io.g.v1beta1.B': 'c d', 'io.g.v1alpha1.C': 'e' };
  expect(removedFromApi(release, { ...release, 'io.g.v1.D': 'f', 'io.g.v1.A': 'a b c' })).toEqual([]);
  expect(removedFromApi(release, { 'io.g.v1.A': 'b', 'io.g.v1beta1.B': 'c' })).toEqual([
    'io.g.v1.A: a is removed',
    'io.g.v1beta1.B: d is removed',
  ]);
  expect(removedFromApi(release, {})).toEqual(['io.g.v1.A is removed']);
});

test('a beta version is served for three releases after its deprecation; nothing is deprecated in favor of a less stable version', () => {
  const kinds = builtinKinds({} as EscalationDependencies, {} as ParamAccess);
  const lifecycles = kinds.flatMap(({ versions }) =>
    versions.flatMap(({ name, lifecycle }) => (lifecycle?.deprecated === undefined ? [] : [{ name, ...lifecycle }])),
  );
  expect(lifecycles.length).toBeGreaterThan(3);
  const stages = ['alpha', 'beta'];
  for (const { name, deprecated = 0, removed = Infinity, replacement = '' } of lifecycles) {
    if (name.includes('beta')) expect(removed - deprecated).toBeGreaterThanOrEqual(3);
    const stage = stages.findIndex((one) => name.includes(one));
    const less = stage < 0 ? stages : stages.slice(0, stage);
    expect(less.filter((one) => replacement.includes(one))).toEqual([]);
  }
});

describe('this tree', () => {
  const current = ofThisTree();

  test('has every element of former releases until its deprecation window ends', () => {
    const releases = recorded();
    expect(releases.length).toBeGreaterThan(0);
    for (const elements of [...releases, current]) {
      for (const kind of ['commands', 'flags', 'gates', 'metrics']) {
        expect(Object.keys(elements[kind] ?? {}).length).toBeGreaterThan(10);
      }
    }
    expect(removedTooEarly(releases, current)).toEqual([]);
  });

  test('has every stable type of former releases, and every field of a type that it has', () => {
    expect(Object.keys(current.types).length).toBeGreaterThan(100);
    expect(recorded().flatMap(({ types }) => removedFromApi(types, current.types))).toEqual(ALPHA);
  });

  test('CHANGELOG.md names every deprecated flag, option, and gate', () => {
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    const silent = ['commands', 'flags', 'gates'].flatMap((kind) =>
      Object.entries(current[kind] ?? {}).filter(
        ([name, { deprecated }]) => deprecated === true && !changelog.includes(name.replace(/^.* --/, '--')),
      ),
    );
    expect(silent).toEqual([]);
  });

  test('deprecated flags name existing replacements that are not deprecated', () => {
    const flags: readonly Flag<unknown>[] = Object.values(FLAGS);
    const lasting = new Set(flags.filter(({ deprecated }) => deprecated === undefined).map(({ name }) => name));
    const deprecated = flags.flatMap((flag) => flag.deprecated ?? []);
    expect(deprecated.length).toBeGreaterThan(0);
    for (const instead of deprecated) {
      const named = [...instead.matchAll(/--([a-z-]+)/g)].map(([, name]) => name ?? '');
      expect(named.filter((name) => !lasting.has(name))).toEqual([]);
    }
  });
});
