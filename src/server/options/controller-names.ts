/** The controllers of standalone mode by kube-controller-manager's names, with their short aliases. */
const CONTROLLERS: Readonly<Record<string, string>> = {
  'bootstrap-signer-controller': 'bootstrapsigner',
  'certificatesigningrequest-approving-controller': 'csrapproving',
  'certificatesigningrequest-cleaner-controller': 'csrcleaner',
  'certificatesigningrequest-signing-controller': 'csrsigning',
  'clusterrole-aggregation-controller': 'clusterrole-aggregation',
  'garbage-collector-controller': 'garbagecollector',
  'legacy-serviceaccount-token-cleaner-controller': 'legacy-service-account-token-cleaner',
  'namespace-controller': 'namespace',
  'persistentvolume-protection-controller': 'pv-protection',
  'persistentvolumeclaim-protection-controller': 'pvc-protection',
  'resourcequota-controller': 'resourcequota',
  'root-ca-certificate-publisher-controller': 'root-ca-cert-publisher',
  'serviceaccount-controller': 'serviceaccount',
  'serviceaccount-token-controller': 'serviceaccount-token',
  'token-cleaner-controller': 'tokencleaner',
  'validatingadmissionpolicy-status-controller': 'validatingadmissionpolicy-status',
};

/** Controllers that are off unless they are named. */
export const DISABLED_BY_DEFAULT: readonly string[] = ['bootstrap-signer-controller', 'token-cleaner-controller'];

/** Returns the long names, sorted. */
export const controllerNames = (): string[] => Object.keys(CONTROLLERS).sort();

const longNames = new Map(
  Object.entries(CONTROLLERS).flatMap(([name, alias]) => [
    [name, name],
    [alias, name],
  ]),
);

/**
 * Returns the long names of the controllers that the entries of `--controllers` enable. An entry that names or excludes a
 * controller takes precedence over `*`, and the first such entry wins. Throws an Error for an unknown name.
 */
export function enabledControllers(entries: readonly string[]): ReadonlySet<string> {
  const explicit = new Map<string, boolean>();
  let star = false;
  for (const raw of entries) {
    const entry = raw.trim();
    if (entry === '') continue;
    if (entry === '*') {
      star = true;
      continue;
    }
    const off = entry.startsWith('-');
    const name = longNames.get(off ? entry.slice(1) : entry);
    if (name === undefined)
      throw new Error(`${JSON.stringify(off ? entry.slice(1) : entry)} is not in the list of known controllers`);
    if (!explicit.has(name)) explicit.set(name, !off);
  }
  const on = controllerNames().filter((name) => explicit.get(name) ?? (star && !DISABLED_BY_DEFAULT.includes(name)));
  return new Set(on);
}
