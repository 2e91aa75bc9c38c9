import { newNotFound } from '../../../src/apimachinery/meta/errors.js';
import { column, NAME_COLUMN } from '../../../src/registry/generic/columns.js';
import { ComputedObject } from '../../../src/registry/generic/computed.js';
import type { ComputedKind } from '../../../src/registry/rest/computed.js';
import type { Getter, Lister, Watcher } from '../../../src/registry/rest/storage.js';
import { selects } from '../../../src/storage/cacher/selections.js';
import { ObjectEvent, ObjectList } from '../../../src/storage/object-list.js';

const group = 'astronomy.example.com';

/** A read-only kind whose objects are in no store: the whole of it, but for its entry among the extensions of a server. */
export class Planets implements Getter, Lister, Watcher {
  private revision = 1;
  private readonly known = new Map<string, ComputedObject>();
  private readonly watches = new Set<(found: readonly ComputedObject[]) => void>();

  readonly kind: ComputedKind = {
    group,
    version: 'v1',
    kind: 'Planet',
    resource: 'planets',
    singular: 'planet',
    namespaced: false,
    table: {
      columns: [NAME_COLUMN, column('Moons', 'integer', 'The number of its moons.')],
      cells: ({ metadata, ...planet }) => [metadata.name ?? '', planet['moons'] ?? 0],
      timeDependent: false,
    },
    schema: { type: 'object', description: 'A planet.', properties: { moons: { type: 'integer' } } },
    storage: this,
  };

  get: Getter['get'] = (_context, _namespace, name) => {
    const planet = this.known.get(name);
    if (planet === undefined) throw newNotFound({ group, resource: 'planets' }, name);
    return planet;
  };

  list: Lister['list'] = (_context, _namespace, { predicate }) => {
    const selected = [...this.known.values()].filter((planet) => selects(predicate, planet));
    const list = new ObjectList(this.revision, selected, undefined);
    return Promise.resolve({ list, resourceVersion: this.revision, continue: '', remainingItemCount: undefined });
  };

  watch: Watcher['watch'] = (_context, _namespace, { predicate }, receiver) => {
    const show = (found: readonly ComputedObject[]): void => {
      const selected = found.filter((planet) => selects(predicate, planet));
      if (selected.length > 0) receiver.receive(selected.map((of) => new ObjectEvent('ADDED', of.revision, of)));
    };
    show([...this.known.values()]);
    this.watches.add(show);
    return Promise.resolve({ resume: () => undefined, stop: () => void this.watches.delete(show) });
  };

  discover(name: string, moons: number): void {
    const metadata = { name, labels: { moons: moons > 0 ? 'yes' : 'no' } };
    const planet = new ComputedObject({ apiVersion: `${group}/v1`, kind: 'Planet', metadata, moons }, ++this.revision);
    this.known.set(name, planet);
    for (const show of this.watches) show([planet]);
  }
}
