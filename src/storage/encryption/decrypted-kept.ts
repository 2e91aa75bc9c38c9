import type { StoredObject } from '../interfaces.js';
import type { KeptContent, KeptEntry, KeptHistory } from '../kept/interfaces.js';
import { defaultPolicy } from '../kept/policies.js';
import { isEncrypted } from './transformer.js';

interface Decryption {
  readonly isClear: (resource: string) => boolean;
  /** Returns an object in the form that callers know, or with the reason in `unreadable`. */
  readonly open: (resource: string, stored: StoredObject) => Promise<StoredObject>;
}

/** Returns the history with its contents decrypted. They are kept as they were stored. */
export function decryptedKept(kept: KeptHistory, { isClear, open }: Decryption): KeptHistory {
  const contentOf = async (resource: string, key: string, content: KeptContent): Promise<KeptContent> => {
    if (isClear(resource) && !isEncrypted(content.bytes)) return content;
    const { revision, bytes, flags, unreadable } = await open(resource, { key, ...content });
    return { revision, bytes, flags, unreadable };
  };
  const entryOf = async (entry: KeptEntry): Promise<KeptEntry> => {
    const content = await contentOf(entry.resource, entry.key, entry.content);
    return content === entry.content ? entry : { ...entry, content };
  };
  const all = async <T extends { readonly entries: readonly KeptEntry[] }>(list: T): Promise<T> => {
    const entries: KeptEntry[] = [];
    for (const entry of list.entries) entries.push(await entryOf(entry));
    return { ...list, entries };
  };
  return {
    list: async (options) => all(await kept.list(options)),
    entry: async (resource, key, revision) => {
      const entry = await kept.entry(resource, key, revision);
      return entry && entryOf(entry);
    },
    content: async (resource, key, revision) => {
      const content = await kept.content(resource, key, revision);
      return content && contentOf(resource, key, content);
    },
    deleted: async (resource, options) => all(await kept.deleted(resource, options)),
    types: () => kept.types(),
    usage: (resource) => kept.usage(resource),
    policy: async (resource) => {
      const state = await kept.policy(resource);
      return state.isDefault && !isClear(resource)
        ? { ...state, policy: defaultPolicy(resource, { encrypted: true }) }
        : state;
    },
    setPolicy: (resource, policy) => kept.setPolicy(resource, policy),
    purge: (resource, keys) => kept.purge(resource, keys),
  };
}
