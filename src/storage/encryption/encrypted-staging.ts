import type { EncodedObject, Revision, StagedObject, Staging, StoredObject } from '../interfaces.js';

export interface EncryptedStagingOptions {
  /** Returns the object in the form in which it is stored: unchanged if its type is not encrypted. */
  seal(resource: string, key: string, value: EncodedObject): Promise<EncodedObject>;
  open(resource: string, stored: StoredObject): Promise<StoredObject>;
}

/** Copies of another store, encrypted like the objects of the type that they become. */
export class EncryptedStaging implements Staging {
  constructor(
    private readonly staging: Staging,
    private readonly options: EncryptedStagingOptions,
  ) {}

  revisions(resource: string): Promise<Map<string, Revision>> {
    return this.staging.revisions(resource);
  }

  async states(resource: string, keys: readonly string[]): Promise<Map<string, StoredObject>> {
    const opened = new Map<string, StoredObject>();
    for (const [key, stored] of await this.staging.states(resource, keys))
      opened.set(key, await this.options.open(resource, stored));
    return opened;
  }

  async put(resource: string, objects: readonly StagedObject[]): Promise<void> {
    const sealed: StagedObject[] = [];
    for (const object of objects) {
      const value = await this.options.seal(resource, object.key, object.value);
      sealed.push(value === object.value ? object : { ...object, value });
    }
    await this.staging.put(resource, sealed);
  }

  remove(resource: string, keys: readonly string[]): Promise<void> {
    return this.staging.remove(resource, keys);
  }

  drop(): Promise<void> {
    return this.staging.drop();
  }

  install(resource: string): Promise<void> {
    return this.staging.install(resource);
  }

  discard(resource: string): Promise<void> {
    return this.staging.discard(resource);
  }
}
