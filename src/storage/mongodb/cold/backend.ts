import type { Clock } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Health, LocalStates, WriteRequest, WriteResult } from '../../interfaces.js';
import { DelegatingBackend } from '../../delegating-backend.js';
import type { MongoBackend } from '../backend.js';
import { changesAfter } from './changes.js';
import type { ColdFile } from './file.js';
import { ColdType } from './type.js';

/** A store in MongoDB whose caches keep what does not fit into memory in a local file of this process. */
export class ColdBackend extends DelegatingBackend {
  private readonly types = new Map<string, ColdType>();

  constructor(
    private readonly backend: MongoBackend,
    /** Shared by the logs of a database. */
    private readonly file: ColdFile,
    private readonly clock: Clock,
  ) {
    super(backend);
  }

  override async open(): Promise<void> {
    await this.backend.open();
    try {
      await this.file.open();
    } catch (error) {
      await this.backend.close();
      throw error;
    }
  }

  override async close(): Promise<void> {
    await this.backend.close();
    await this.file.close();
  }

  /** Rejects creates and updates while the file is full, because the written states would have to stay in memory. Deletions free space. */
  override write(request: WriteRequest): Promise<WriteResult> {
    const { ok, reason } = this.file.state();
    if (!ok && request.value !== undefined) return Promise.reject(new StorageError('unavailable', reason));
    return this.backend.write(request);
  }

  writing(): Health {
    const state = this.file.state();
    return state.ok ? this.backend.writing() : state;
  }

  atHand(resource: string): LocalStates {
    const { backend, file, clock } = this;
    let type = this.types.get(resource);
    if (type === undefined) {
      type = new ColdType(file, {
        resource,
        clock,
        walk: (visit) => backend.walk(resource, visit),
        batchAt: (revision) => backend.batchAt(revision),
        changesAfter: (checkpoint) => changesAfter(backend, resource, checkpoint),
      });
      this.types.set(resource, type);
    }
    return type.atHand;
  }
}
