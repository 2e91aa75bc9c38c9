import type { Home, KeyName, KeyRecord } from './rules.js';

const SHOWN: Readonly<Record<KeyName, string>> = {
  'serving-ca': 'serving CA',
  'client-ca': 'client CA',
  'service-account': 'service account key',
};

/** The flags that name each key's files. */
const FLAGS: Readonly<Record<KeyName, string>> = {
  'serving-ca': '--tls-cert-file, --tls-private-key-file and --root-ca-file',
  'client-ca': '--cluster-signing-cert-file, --cluster-signing-key-file and --client-ca-file',
  'service-account': '--service-account-signing-key-file and --service-account-key-file',
};

/** Tells what a server that may not start needs: the keys that the other servers on its database have. */
export function refusal(
  names: readonly KeyName[],
  records: Readonly<Partial<Record<KeyName, KeyRecord>>>,
  directory: string,
  encrypts: boolean,
): string {
  const reasons = (['directory', 'files', 'store'] as const).flatMap((home) => {
    const those = names.filter((name) => records[name]?.home === home);
    const [first] = those;
    if (first === undefined) return [];
    const what = `${listed(those.map((name) => SHOWN[name]))} of ${records[first]?.host ?? ''}`;
    const flags = those.map((name) => FLAGS[name]).join('; ');
    return [reasonOf(home, what, flags, directory, encrypts)];
  });
  return `servers on one MongoDB database share their keys, and ${reasons.join('; ')} (docs/standalone.md, "Two servers")`;
}

function reasonOf(home: Home, what: string, flags: string, directory: string, encrypts: boolean): string {
  switch (home) {
    case 'files':
      return `the ${what} are in files: give the same files by ${flags}`;
    case 'store':
      return `the ${what} are in the database, encrypted: start with the --encryption-provider-config of that server, or give files by ${flags}`;
    case 'directory': {
      const move = encrypts
        ? 'restart that server with --encryption-provider-config, which moves them into the database'
        : 'start both with an --encryption-provider-config for secrets, that server first, which moves them into the database';
      return `the ${what} are in its data directory, not in ${directory}: ${move}; or give both the same files by ${flags}`;
    }
  }
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
