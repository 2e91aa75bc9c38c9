import { randomUUID } from 'node:crypto';
import { isObject, stringAt } from '../apimachinery/json/json.js';
import { parseJson } from '../apimachinery/json/decode.js';
import { encodeObject } from './encode.js';
import { StorageError } from './errors.js';
import type { Backend, StoredObject } from './interfaces.js';
import type { LogSet } from './routed-backend.js';

const ATTEMPTS = 3;
const KEY = 'identity';

/**
 * The identity of each log: random, created once by the first replica that opens the store, and kept in the log itself. A copy of the store
 * keeps its identity; another store has a different one.
 */
export class LogIdentities {
  private readonly identities = new Map<Backend, string>();
  private readonly names = new Map<Backend, string>();

  /** Reads the identities of all logs, creating missing ones. The logs must be open. */
  async open(logs: LogSet): Promise<void> {
    await this.read(logs.main, '');
    for (const [log, backend] of logs.others) await this.read(backend, log);
  }

  of(backend: Backend): string | undefined {
    return this.identities.get(backend);
  }

  /** Reads the identity of a log again: another one may have taken its place. */
  async renew(backend: Backend): Promise<void> {
    const log = this.names.get(backend);
    if (log !== undefined) this.identities.set(backend, await identityOf(backend, log));
  }

  private async read(backend: Backend, log: string): Promise<void> {
    this.names.set(backend, log);
    if (!this.identities.has(backend)) this.identities.set(backend, await identityOf(backend, log));
  }
}

/** Types are separated by name, even if several logs share a database. */
const resourceOf = (log: string): string => `${PREFIX}${log === '' ? 'main' : log}${SUFFIX}`;
const PREFIX = 'logs.';
const SUFFIX = '.kubeannex.io';

/** Reports whether a type holds a log identity. Identities are not secret and cannot be rewritten when keys change, so they are never encrypted. */
export const isLogIdentity = (resource: string): boolean => resource.startsWith(PREFIX) && resource.endsWith(SUFFIX);

async function identityOf(backend: Backend, log: string): Promise<string> {
  const resource = resourceOf(log);
  let found = await backend.get(resource, KEY);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (found !== undefined) return readIdentity(found);
    const uid = randomUUID();
    const value = encodeObject({ apiVersion: 'kubeannex.io/v1', kind: 'Log', metadata: { name: KEY, uid } });
    const written = await backend.write({ resource, key: KEY, expected: 0, value });
    if (written.outcome === 'committed') return uid;
    // Another replica was faster.
    found = written.current;
  }
  throw new StorageError('unavailable', 'other replicas are creating the identity of the log');
}

function readIdentity({ bytes, unreadable }: StoredObject): string {
  if (unreadable !== undefined)
    throw new StorageError('corrupt', `the identity of the log is encrypted: ${unreadable}`);
  const object = parseJson(bytes);
  const metadata = isObject(object) ? object['metadata'] : undefined;
  const uid = isObject(metadata) ? stringAt(metadata, 'uid') : undefined;
  if (uid === undefined) throw new StorageError('corrupt', 'the identity of the log is damaged');
  return uid;
}
