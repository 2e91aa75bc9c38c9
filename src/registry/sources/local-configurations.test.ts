import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import { LocalConfigurations } from './local-configurations.js';

/** A cache that creates its objects again on every read, like one that packs them. */
class PackingCache {
  readonly revisions = new Map<string, number>();
  private listener: () => void = () => undefined;

  write(name: string, revision: number): void {
    this.revisions.set(name, revision);
    this.listener();
  }

  delete(name: string): void {
    this.revisions.delete(name);
    this.listener();
  }

  onChange(listener: () => void): () => void {
    this.listener = listener;
    return () => undefined;
  }

  *peekAll(): Generator<CachedObject> {
    for (const [key, revision] of this.revisions) yield { key, revision } as unknown as CachedObject;
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }
}

const view = {
  toObject: ({ key, revision }: CachedObject): KubeObject => ({
    metadata: { name: key, resourceVersion: String(revision) },
  }),
};

test('decodes an object once per revision, and drops removed objects', async () => {
  const cache = new PackingCache();
  const configurations = new LocalConfigurations(cache, view);
  await configurations.whenSynced();
  cache.write('b', 1);
  cache.write('a', 2);
  const before = configurations.objects();
  expect(before.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  cache.write('a', 3);
  const [changed, kept] = configurations.objects();
  expect(kept).toBe(before[1]);
  expect(changed?.metadata.resourceVersion).toBe('3');
  cache.delete('b');
  expect(configurations.objects()).toEqual([changed]);
});
