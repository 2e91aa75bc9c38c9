import { encodedBytes } from '../../../src/storage/object-bytes.js';
import type { Revision, StagedObject, Staging, StoredObject } from '../../../src/storage/interfaces.js';
import type { KubeObject } from '../../../src/apimachinery/meta/meta.js';
import { ClusterError } from '../../../src/client/cluster-client.js';
import type { Change, Page } from '../../../src/adoption/rehearsal/collection.js';
import { keyOf, revisionOf } from '../../../src/adoption/rehearsal/copier.js';

interface Event {
  readonly revision: Revision;
  readonly change: Change;
}

/** A resource in a cluster. Every page shows the newest state, whichever page it follows: the worst that a list can be. */
export class FakeCollection {
  readonly objects = new Map<string, KubeObject>();
  revision = 100;
  pageSize = 2;
  /** Revisions below this one are compacted: a watch that starts there gets 410. */
  compacted = 0;
  failures = 0;
  private readonly events: Event[] = [];
  private listeners: (() => void)[] = [];
  private ends = 0;

  write(name: string, value: string): void {
    const known = this.objects.get(name);
    const resourceVersion = String(++this.revision);
    const uid = known?.metadata.uid ?? `uid-${resourceVersion}`;
    const object: KubeObject = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name, uid, resourceVersion },
      value,
    };
    this.objects.set(name, object);
    this.emit({ type: known === undefined ? 'ADDED' : 'MODIFIED', object });
  }

  delete(name: string): void {
    const known = this.objects.get(name);
    if (known === undefined) return;
    this.objects.delete(name);
    const resourceVersion = String(++this.revision);
    this.emit({ type: 'DELETED', object: { ...known, metadata: { ...known.metadata, resourceVersion } } });
  }

  /** Ends all watches. */
  endWatches(): void {
    this.ends++;
    this.wake();
  }

  page(token: string): Promise<Page> {
    if (this.failures-- > 0) return Promise.reject(new ClusterError(500, 'away'));
    const names = [...this.objects.keys()].sort().filter((name) => name > token);
    const taken = names.slice(0, this.pageSize);
    const more = names.length > taken.length;
    const objects = taken.flatMap((name) => this.objects.get(name) ?? []);
    const next = more ? (taken.at(-1) ?? '') : '';
    return Promise.resolve({
      revision: String(this.revision),
      objects,
      continue: next,
      remaining: names.length - taken.length,
    });
  }

  has(object: KubeObject): Promise<boolean> {
    return Promise.resolve(this.objects.get(keyOf(object))?.metadata.uid === object.metadata.uid);
  }

  async *changes(from: string, signal: AbortSignal): AsyncGenerator<Change> {
    let at = Number(from);
    const ends = this.ends;
    signal.addEventListener('abort', () => {
      this.wake();
    });
    while (!signal.aborted && ends === this.ends) {
      if (at < this.compacted) throw new ClusterError(410, 'too old resource version');
      const next = this.events.find(({ revision }) => revision > at);
      if (next === undefined) {
        await new Promise<void>((resolve) => this.listeners.push(resolve));
        continue;
      }
      at = next.revision;
      yield next.change;
    }
  }

  private emit(change: Change): void {
    this.events.push({ revision: revisionOf(change.object), change });
    this.wake();
  }

  private wake(): void {
    const { listeners } = this;
    this.listeners = [];
    for (const listener of listeners) listener();
  }
}

/** A copy in memory with delayed operations. */
export class FakeStaging implements Omit<Staging, 'install' | 'discard'> {
  readonly objects = new Map<string, StoredObject>();

  constructor(private readonly pause: () => Promise<void> = () => Promise.resolve()) {}

  async revisions(): Promise<Map<string, Revision>> {
    await this.pause();
    return new Map([...this.objects].map(([key, { revision }]) => [key, revision]));
  }

  states(_: string, keys: readonly string[]): Promise<Map<string, StoredObject>> {
    return Promise.resolve(new Map(keys.flatMap((key) => pair(key, this.objects.get(key)))));
  }

  async put(_: string, objects: readonly StagedObject[]): Promise<void> {
    await this.pause();
    for (const { key, revision, value } of objects) {
      if ((this.objects.get(key)?.revision ?? 0) >= revision) continue;
      this.objects.set(key, { key, revision, bytes: encodedBytes(value, revision), flags: 0 });
    }
  }

  async remove(_: string, keys: readonly string[]): Promise<void> {
    await this.pause();
    for (const key of keys) this.objects.delete(key);
  }

  drop(): Promise<void> {
    this.objects.clear();
    return Promise.resolve();
  }
}

const pair = <T>(key: string, value: T | undefined): [string, T][] => (value === undefined ? [] : [[key, value]]);
