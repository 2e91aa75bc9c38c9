/** The keys that servers on one store share (docs/design/shared-keys.md). */
export const KEY_NAMES = ['serving-ca', 'client-ca', 'service-account'] as const;
export type KeyName = (typeof KEY_NAMES)[number];

/** Where a key is: in files that every server has, in one server's data directory, or encrypted in the store. */
export type Home = 'files' | 'directory' | 'store';

/** What the store knows of a key. */
export interface KeyRecord {
  readonly home: Home;
  readonly fingerprint: string;
  /** The host that wrote the record. */
  readonly host: string;
  /** The encrypted key, in base64, if it is at home in the store. */
  readonly sealed?: string | undefined;
}

/** What a starting server has of a key. */
export interface Own {
  /** The fingerprint of the key in the files that flags name; undefined if they name none. */
  readonly files: string | undefined;
  /** The fingerprints of the keys in the data directory, the current one first. */
  readonly directory: readonly string[];
  /** The server encrypts what it writes, and may decrypt what is encrypted. */
  readonly encryption: { readonly writes: boolean; readonly reads: boolean };
}

/**
 * The next step of a starting server. `use`: the record is in order, take the key from there. `record`: write that the key of that home is in
 * use; `store` means to encrypt the one of the directory, or a new one if it has none.
 */
export type Step =
  | { readonly kind: 'use'; readonly home: Home }
  | { readonly kind: 'record'; readonly home: Home }
  | { readonly kind: 'refuse' };

const use = (home: Home): Step => ({ kind: 'use', home });
const record = (home: Home): Step => ({ kind: 'record', home });
const REFUSE: Step = { kind: 'refuse' };

/** Decides what a server does about a key of which the store has this record. */
export function decide(known: KeyRecord | undefined, { files, directory, encryption }: Own): Step {
  if (files !== undefined) {
    if (known?.home === 'store') return use('files');
    return known?.home === 'files' && known.fingerprint === files ? use('files') : record('files');
  }
  if (known?.home === 'store') return encryption.reads ? use('store') : REFUSE;
  if (known !== undefined && !directory.includes(known.fingerprint)) return REFUSE;
  if (encryption.writes) return record('store');
  // A CA that was renewed has another fingerprint than the record.
  return known !== undefined && known.fingerprint === directory[0] ? use('directory') : record('directory');
}
