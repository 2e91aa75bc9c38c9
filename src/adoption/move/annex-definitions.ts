import { isConditionTrue } from '../../apimachinery/meta/conditions.js';
import { ADOPTION_LAST_REVISION, ADOPTION_STAGE } from '../protocol/names.js';
import { type AdoptionStage, isCopy, lastRevisionOf } from '../protocol/stages.js';
import { deepCopy, objectAt } from '../../apimachinery/json/json.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Revision } from '../../storage/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import { isConflictOrNotFound } from '../../controllers/errors.js';
import { definitionOf } from '../rehearsal/definitions.js';
import { waitUntil } from '../wait.js';

const POLL_MILLIS = 50;
const ATTEMPTS = 20;

export interface AnnexDefinitionsOptions {
  readonly client: LoopbackClient;
  readonly clock: Clock;
  readonly group: string;
}

/** The ResourceDefinitions that an Adoption creates from the cluster's definitions. */
export class AnnexDefinitions {
  constructor(private readonly options: AnnexDefinitionsOptions) {}

  /** Reports whether there is one for each of the cluster's definitions that is not being deleted. */
  async isCompleteFor(crds: readonly KubeObject[]): Promise<boolean> {
    const kept = (await this.list()).filter((one) => !hasDeletionTimestamp(one)).map(({ metadata }) => metadata.name);
    return crds.every(({ metadata: { name } }) => kept.includes(name));
  }

  /** Returns the definitions of the group. */
  async list(): Promise<KubeObject[]> {
    const all = await this.options.client.list('');
    return all.filter((one) => objectAt(one, 'spec')?.['group'] === this.options.group);
  }

  /** Creates the missing ones; resolves when all are established. Throws if a definition from another source is in the way. */
  async create(crds: readonly KubeObject[], millis: number, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.options;
    for (const crd of crds) {
      const found = await client.get('', crd.metadata.name ?? '');
      if (found === undefined) await client.create(inStage(definitionOf(crd), 'Copying'));
      else if (found.metadata.annotations?.[ADOPTION_STAGE] === undefined)
        throw new Error(`the ResourceDefinition ${found.metadata.name ?? ''} already exists`);
    }
    const look = async (): Promise<string> => {
      const missing = crds.length - (await this.list()).filter((one) => isConditionTrue(one, 'Established')).length;
      return missing <= 0 ? '' : `${missing} definitions are not established`;
    };
    await waitUntil(look, { clock, millis, pollMillis: POLL_MILLIS }, signal);
  }

  async setStage(stage: AdoptionStage): Promise<void> {
    await this.each(async (definition) => {
      if (definition.metadata.annotations?.[ADOPTION_STAGE] === stage) return;
      await this.options.client.update(inStage(definition, stage));
    });
  }

  /** Sets the stage Returning, in which lists show no revision above `last`. Returns the one that an earlier leader has set, if there is one. */
  async setReturning(last: Revision): Promise<Revision> {
    let highest = 0;
    await this.each(async (definition) => {
      const isThere = definition.metadata.annotations?.[ADOPTION_STAGE] === 'Returning';
      if (!isThere) await this.options.client.update(inStage(definition, 'Returning', last));
      highest = Math.max(highest, (isThere ? lastRevisionOf(definition) : last) ?? 0);
    });
    return highest;
  }

  /** Deletes the definitions, but not their objects. */
  async remove(millis: number, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.options;
    await this.each(async (definition) => {
      const { name = '', uid = '' } = definition.metadata;
      if (isCopy(definition) && !hasDeletionTimestamp(definition)) await client.delete('', name, { uid });
    });
    const look = async (): Promise<string> => ((await this.list()).some(isCopy) ? 'the definitions still exist' : '');
    await waitUntil(look, { clock, millis, pollMillis: POLL_MILLIS }, signal);
  }

  private async each(work: (definition: KubeObject) => Promise<unknown>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        for (const definition of await this.list()) await work(definition);
        return;
      } catch (error) {
        if (!isConflictOrNotFound(error) || attempt >= ATTEMPTS) throw error;
        await sleep(this.options.clock, POLL_MILLIS);
      }
    }
  }
}

/** `last`: the newest revision that lists show from here on, in the stage Returning; kept in Left. */
function inStage(definition: KubeObject, stage: AdoptionStage, last?: Revision): KubeObject {
  const copy = deepCopy(definition);
  const { [ADOPTION_LAST_REVISION]: before, ...others } = copy.metadata.annotations ?? {};
  const kept = last === undefined ? (stage === 'Left' ? before : undefined) : String(last);
  const annotations = {
    ...others,
    [ADOPTION_STAGE]: stage,
    ...(kept !== undefined && { [ADOPTION_LAST_REVISION]: kept }),
  };
  return { ...copy, metadata: { ...copy.metadata, annotations } };
}
