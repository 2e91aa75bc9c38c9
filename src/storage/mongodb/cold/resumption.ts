import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import { Slicer } from '../../../scheduling/slicer.js';
import type { Clock } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Revision, StoredObject, WalkedObject } from '../../interfaces.js';
import type { ColdFile } from './file.js';
import {
  decodePlace,
  encodePlace,
  tombstoneAt,
  isTombstone,
  AFTER_SAVE,
  SUPERSEDED,
  loadPrefix,
  objectKeyOf,
  PLACE,
  placeKey,
  RECORD,
  revisionKey,
  revisionOf,
  type Checkpoint,
  type Place,
  type ColdDatabase,
  placeAt,
} from './records.js';

const AT_ONCE = 1_000;
const NEXT = Buffer.of(0);

/** Resumes a load of an earlier process: its objects, overlaid with the changes in the log after its checkpoint. */
export class Resumption {
  private readonly slicer: Slicer;

  constructor(
    private readonly file: ColdFile,
    private readonly checkpoint: Checkpoint,
    /** The last states of the objects that changed after the checkpoint; undefined if the object is gone. */
    private readonly newer: ReadonlyMap<string, StoredObject | undefined>,
    clock: Clock,
  ) {
    this.slicer = new Slicer(clock);
  }

  /** Visits the objects in the order of their keys; throws if the file does not match the log. */
  async run(visit: (object: WalkedObject) => void): Promise<void> {
    await this.removeSuperseded();
    await this.removeOld();
    await this.visitAll(visit);
  }

  private async removeSuperseded(): Promise<void> {
    const { load } = this.checkpoint;
    for (;;) {
      const left = this.file.range(loadPrefix(SUPERSEDED, load), loadPrefix(SUPERSEDED, load + 1), AT_ONCE);
      if (left.length === 0) return;
      this.remove(left.flatMap(({ key }) => [key, revisionKey(RECORD, load, revisionOf(key))]));
      await this.pause();
    }
  }

  /** Removes the states of objects that changed in the log: the file only has outdated ones. */
  private async removeOld(): Promise<void> {
    const { load } = this.checkpoint;
    const keys = [...this.newer.keys()];
    for (let i = 0; i < keys.length; i += AT_ONCE) {
      this.write((root) => {
        for (const key of keys.slice(i, i + AT_ONCE)) {
          const id = placeKey(load, key);
          const place = placeAt(root, id);
          if (place !== undefined) root.removeSync(revisionKey(RECORD, load, place.revision));
          root.putSync(id, encodePlace(id, tombstoneAt(AFTER_SAVE)));
        }
      });
      await this.pause();
    }
  }

  private remove(keys: readonly Buffer[]): void {
    this.write((root) => {
      for (const key of keys) root.removeSync(key);
    });
  }

  private write(change: (root: ColdDatabase) => void): void {
    if (!this.file.write(change)) throw unusableFileError('cannot be written');
  }

  private async visitAll(visit: (object: WalkedObject) => void): Promise<void> {
    const { load, revision } = this.checkpoint;
    const { newer } = this;
    const rest = [...newer.keys()].sort(compareUtf8).reverse();
    /** Visits the changed objects before a key, or all remaining ones if undefined. */
    const visitNewerBefore = (key: string | undefined): void => {
      for (let next = rest.at(-1); next !== undefined; next = rest.at(-1)) {
        if (key !== undefined && compareUtf8(next, key) >= 0) return;
        rest.pop();
        const object = newer.get(next);
        if (object !== undefined) visit(object);
      }
    };
    const end = loadPrefix(PLACE, load + 1);
    for (let from = placeKey(load, ''); ;) {
      const found = this.file.range(from, end, AT_ONCE);
      const gone: Buffer[] = [];
      for (const { key: id, value } of found) {
        const place = decodePlace(id, value);
        if (place === undefined) throw unusableFileError('is damaged');
        const key = objectKeyOf(id);
        visitNewerBefore(key);
        // Visited objects may have been stored in the file by now.
        if (newer.has(key)) continue;
        if (place.revision > revision) throw unusableFileError('belongs to a different history of the store');
        if (isTombstone(place)) gone.push(id);
        else visit(new KeptObject(this.file, load, key, place));
      }
      if (gone.length > 0) this.remove(gone);
      const last = found.at(-1);
      if (last === undefined || found.length < AT_ONCE) break;
      from = Buffer.concat([last.key, NEXT]);
      await this.pause();
    }
    visitNewerBefore(undefined);
  }

  private async pause(): Promise<void> {
    if (this.slicer.isExhausted) await this.slicer.yield();
  }
}

function unusableFileError(why: string): StorageError {
  return new StorageError('unavailable', `the file of --cache-dir ${why}; the type is read from the store`);
}

/** A state whose record is in the file. */
class KeptObject implements WalkedObject {
  readonly revision: Revision;
  readonly flags: number;
  readonly keptLength: number;

  constructor(
    private readonly file: ColdFile,
    private readonly load: number,
    readonly key: string,
    { revision, flags, length }: Place,
  ) {
    this.revision = revision;
    this.flags = flags;
    this.keptLength = length;
  }

  get bytes(): Uint8Array {
    const stored = this.file.read(this.load, this.key, this.revision);
    if (stored === undefined || stored.unreadable !== undefined || stored.bytes.length !== this.keptLength)
      throw unusableFileError('is damaged');
    return stored.bytes;
  }
}
