import type { JsonObject } from '../../apimachinery/json/json.js';
import type { TableConvertor } from './interfaces.js';
import type { ServedVersion } from './served.js';
import type { Creater, Getter, Lister, Watcher } from './storage.js';

/** A creater of a kind whose objects are not stored: it decodes bodies itself. */
export interface UnstoredCreater extends Creater {
  readonly decode: ServedVersion['decode'];
}

/** The storage of a computed kind: the verbs that it has become those of the kind. */
export type ComputedStorage = Getter | Lister | Watcher | UnstoredCreater;

/** A kind whose objects are made when they are asked for. It has one version. */
export interface ComputedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural name, as in URLs. */
  readonly resource: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly table: TableConvertor;
  /** The OpenAPI schema of its objects; undefined if it is among the published ones. */
  readonly schema: JsonObject | undefined;
  readonly storage: ComputedStorage;
}
