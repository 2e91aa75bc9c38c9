import type { ManagedFieldsEntry } from '../apimachinery/meta/meta.js';
import type { JsonValue } from '../apimachinery/json/json.js';
import { FieldSet } from '../structured-merge-diff/fieldpath/field-set.js';
import { PathElement } from '../structured-merge-diff/fieldpath/path-element.js';
import { customResourceType } from '../structured-merge-diff/schema/custom-resource.js';
import type { Clock } from '../util/clock.js';
import { emptyObjectOf } from '../apimachinery/scheme/empty-objects.js';
import { FieldManager } from './field-manager.js';
import { Managed } from './managed.js';

type Path = readonly PathElement[];

const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
const SCALE_VERSION = 'autoscaling/v1';
const REPLICAS: Path = [PathElement.field('spec'), PathElement.field('replicas')];

const scaleSchema = {
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { replicas: { type: 'integer', format: 'int32' } } },
    status: {
      type: 'object',
      properties: { replicas: { type: 'integer', format: 'int32' }, selector: { type: 'string' } },
    },
  },
};

/**
 * Creates the field manager for the scale subresource of custom resources. An apply only succeeds if it changes
 * nothing, because kube-apiserver treats the merged Scale as a custom resource.
 */
export function createScaleFieldManager(clock: Clock): FieldManager {
  const type = customResourceType(scaleSchema);
  return new FieldManager({
    kind: SCALE,
    subresource: 'scale',
    unconvertible: `request to convert CR to an invalid group/version: ${SCALE_VERSION}`,
    typeOf: (version) => (version === SCALE_VERSION ? type : undefined),
    emptyObject: emptyObjectOf(SCALE),
    clock,
  });
}

/**
 * Converts managedFields between an object and its scale. `paths` is the path of the replicas in each version of the
 * object (`group/version`), or null if the version has no scale. Both methods throw an Error if entries cannot be
 * decoded.
 */
export class ScaleManagedFields {
  private readonly paths = new Map<string, Path | undefined>();

  constructor(
    private readonly parent: readonly JsonValue[] | undefined,
    private readonly version: string,
    paths: Readonly<Record<string, readonly string[] | null>>,
  ) {
    for (const [name, path] of Object.entries(paths))
      this.paths.set(
        name,
        path?.map((step) => PathElement.field(step)),
      );
  }

  /** Returns the entries of the scale: the managers that own the replicas. */
  toScale(): ManagedFieldsEntry[] | undefined {
    const managed = this.decodeParent();
    for (const [manager, owned] of managed.fields) {
      const path = this.paths.get(owned.apiVersion);
      if (path === undefined || !owned.set.has(path)) managed.fields.delete(manager);
      else managed.fields.set(manager, { ...owned, set: FieldSet.ofPaths([REPLICAS]), apiVersion: SCALE_VERSION });
    }
    return managed.encode();
  }

  /** Returns the entries of the object after a write to its scale, whose entries are `scale`. */
  toParent(scale: readonly JsonValue[] | undefined): ManagedFieldsEntry[] | undefined {
    const managed = this.decodeParent();
    const written = Managed.decode(scale ?? []);
    for (const [manager, owned] of [...managed.fields]) {
      if (!this.paths.has(owned.apiVersion)) {
        managed.fields.delete(manager);
        continue;
      }
      const path = this.paths.get(owned.apiVersion);
      if (path === undefined || !owned.set.has(path)) continue;
      if (written.fields.delete(manager)) continue;
      // The writer of the scale has taken over the replicas from this manager.
      const set = owned.set.difference(FieldSet.ofPaths([path]));
      if (set.isEmpty) managed.fields.delete(manager);
      else managed.fields.set(manager, { ...owned, set });
    }
    this.addWriters(managed, written);
    return managed.encode();
  }

  private addWriters(managed: Managed, written: Managed): void {
    const path = this.paths.get(this.version);
    for (const [manager, owned] of written.fields) {
      if (path === undefined || !owned.set.has(REPLICAS)) continue;
      managed.adopt(manager);
      managed.fields.set(manager, { set: FieldSet.ofPaths([path]), apiVersion: this.version, applied: owned.applied });
    }
  }

  private decodeParent(): Managed {
    return Managed.decode(this.parent ?? []);
  }
}
