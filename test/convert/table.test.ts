import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { convert, documentsOf, kubectlConvert, manifests, MANIFESTS, textOf, TOOLS } from './program.js';
import { REMOVALS } from './table.js';

const withoutKubectl = existsSync(join(TOOLS, 'kubectl')) ? '' : ' (skipped: no kubectl)';
const RELEASES = [...new Set(REMOVALS.map(({ release }) => release))];
const nameOf = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;
const POLICY = '{kind: PodSecurityPolicy, metadata: {name: restricted}, spec: {privileged: false}, apiVersion: ';
const POLICIES = ['policy/v1beta1', 'extensions/v1beta1'].map((version) => `${POLICY}${version}}`).join('\n---\n');

const before = manifests().flatMap((path) => documentsOf(textOf(path)));

interface Finding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly status: string;
  readonly removedIn: string | null;
  readonly replacement: { readonly apiVersion: string; readonly availableSince: string } | null;
}

function findings(target: string): { code: number | null; found: ReadonlyMap<string, Finding> } {
  const { code, out } = convert(['--check', '--target-version', target, '-o', 'json', '-', MANIFESTS], POLICIES);
  const { findings: all } = JSON.parse(out) as { findings: readonly Finding[] };
  return { code, found: new Map(all.map((one) => [nameOf(one.apiVersion, one.kind), one])) };
}

describe('every row of the table of removed versions', () => {
  test('is converted to the version that replaced it', () => {
    const { code, out, err } = convert([MANIFESTS]);
    expect([code, err.includes('error:')]).toEqual([0, false]);
    const after = documentsOf(out);
    expect(after.map(({ kind }) => kind)).toEqual(before.map(({ kind }) => kind));
    const went = new Map(before.map((old, i) => [nameOf(old.apiVersion, old.kind), after[i]?.apiVersion]));
    for (const { apiVersion, kind, replacement } of REMOVALS) {
      if (kind === 'PodSecurityPolicy') continue;
      expect([apiVersion, kind, went.get(nameOf(apiVersion, kind))]).toEqual([apiVersion, kind, replacement]);
    }
  });

  test('is refused with the reason if it is PodSecurityPolicy', () => {
    const { code, out, err } = convert(['-'], POLICIES);
    expect([code, out.trim()]).toEqual([1, '']);
    expect(err.match(/error: .*PodSecurityPolicy restricted: nothing replaces it/g)).toHaveLength(2);
  });

  test.each(RELEASES)('is reported for the release that removed it: %s', (release) => {
    const { code, found } = findings(release);
    expect(code).toBe(1);
    for (const { apiVersion, kind, ...row } of REMOVALS.filter((removal) => removal.release === release)) {
      const finding = found.get(nameOf(apiVersion, kind));
      expect(finding).toMatchObject({ apiVersion, kind, status: 'removed', removedIn: release });
      // The v1 of flowcontrol is newer than the removal of its first betas: the report names the version that the release serves.
      if (row.since !== undefined && Number(row.since.slice(2)) <= Number(release.slice(2)))
        expect(finding?.replacement).toMatchObject({ apiVersion: row.replacement, availableSince: row.since });
      else if (row.replacement === undefined) expect(finding?.replacement).toBeNull();
      else expect(finding?.replacement?.apiVersion).toMatch(/^flowcontrol\.apiserver\.k8s\.io\/v1beta\d$/);
    }
  });

  test.each(RELEASES)('is not reported as removed for the release before %s', (release) => {
    const { found } = findings(`1.${String(Number(release.slice(2)) - 1)}`);
    for (const { apiVersion, kind } of REMOVALS.filter((removal) => removal.release === release))
      expect([apiVersion, kind, found.get(nameOf(apiVersion, kind))?.status]).not.toContain('removed');
  });

  test('no longer appears in the output', () => {
    const { out } = convert([MANIFESTS]);
    expect(convert(['--check', '-'], out)).toEqual({
      code: 0,
      out: 'Nothing is deprecated or removed in Kubernetes 1.37.\n',
      err: '',
    });
  });

  (withoutKubectl === '' ? test : test.skip)(`kubectl annex convert does the same${withoutKubectl}`, () => {
    expect(kubectlConvert([MANIFESTS])).toEqual(convert([MANIFESTS]));
    const check = ['--check', '--target-version', '1.22', MANIFESTS];
    expect(kubectlConvert(check)).toEqual(convert(check));
  });
});
