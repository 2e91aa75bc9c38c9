import { objectAt, objectsOf, stringsOf, textOf } from '../../apimachinery/json/json.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import { eachPage } from '../../client/lists.js';
import { ClusterError, type ClusterClient } from '../../client/cluster-client.js';
import { whoAmI } from '../../client/who-am-i.js';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { sizeText } from '../../util/text/size-text.js';
import type { RateLimit } from '../rate-limit.js';
import { waitUntil } from '../wait.js';
import { backDoor, type ClusterDefinitions } from '../cluster/cluster-definitions.js';
import type { Fence } from '../cluster/fence.js';
import type { Journal } from './journal.js';

/** No return uses this back door. */
const DOOR = backDoor(0);
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const POLL_MILLIS = 500;
/** How long a step may go without progress in the cluster. */
const STEP_MILLIS = 60_000;
const MERGE = 'application/merge-patch+json';
const CONDITION = 'SourceRetained';

export interface SourceOptions {
  readonly client: Pick<ClusterClient, 'call' | 'must' | 'metadata'>;
  readonly clock: Clock;
  readonly group: string;
  readonly rate: RateLimit;
  readonly clusterDefinitions: Pick<ClusterDefinitions, 'list' | 'openBackDoor' | 'closeBackDoor'>;
  readonly fence: Pick<Fence, 'put'>;
  readonly journal: Pick<Journal, 'read' | 'phase' | 'isWanted' | 'note' | 'resources'>;
}

/** The copy of a group that the cluster keeps while Annex serves it. */
export class Source {
  constructor(private readonly options: SourceOptions) {}

  /** Reports in the Adoption what the cluster keeps, and that it can be freed. */
  async reportRetained(): Promise<void> {
    const { journal, clusterDefinitions } = this.options;
    const { length } = await clusterDefinitions.list();
    await journal.read();
    const { count, size } = this.extent();
    await journal.note([
      length > 0
        ? [
            ...([CONDITION, true, 'Retained'] as const),
            `the cluster keeps ${count} objects as of the switch, about ${size} in etcd. Every kube-apiserver sends requests for the group to Annex, so it is safe to delete them: spec.source.retain: false. If the group returns afterwards, all objects get new uids`,
          ]
        : [
            CONDITION,
            false,
            'Freed',
            `the cluster keeps no copy: about ${size} of ${count} objects were freed in etcd`,
          ],
    ]);
  }

  /**
   * Deletes the copy from etcd. Finalizers would keep objects and definitions there forever, so they are removed first, through the back
   * door. The garbage collector sees only what is served, which is Annex's: no dependents are deleted.
   */
  async free(signal: AbortSignal): Promise<void> {
    const { journal } = this.options;
    try {
      await this.check();
      const { count, size } = this.extent();
      await journal.note([[CONDITION, true, 'Freeing', `${count} objects, about ${size}, are being freed in etcd`]]);
      await this.removeFinalizers(signal);
      for (const crd of await this.options.clusterDefinitions.list()) await this.remove(crd, signal);
      await this.reportRetained();
    } catch (error) {
      await journal.read();
      await journal.note([[CONDITION, true, 'Freeing', `not freed yet: ${messageOf(error)}`]]);
      throw error;
    }
  }

  private async removeFinalizers(signal: AbortSignal): Promise<void> {
    const { client, fence, clusterDefinitions } = this.options;
    // A replica that is gone may have left the back door behind, with its version no longer served.
    await clusterDefinitions.closeBackDoor();
    await fence.put({ user: await whoAmI(client), version: DOOR });
    await clusterDefinitions.openBackDoor(DOOR, []);
    try {
      for (const crd of await clusterDefinitions.list())
        await this.removeFinalizersOfType(textOf(objectAt(objectAt(crd, 'spec'), 'names')?.['plural']), signal);
    } finally {
      await clusterDefinitions.closeBackDoor();
      await fence.put();
    }
  }

  /** Removes the finalizers of all objects of a type. */
  private async removeFinalizersOfType(plural: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    let end = clock.monotonic() + STEP_MILLIS;
    for (let held = -1; ;) {
      let trouble: string;
      try {
        const now = await this.removeFinalizersOnce(plural, signal);
        if (now.held === 0) return;
        if (now.held !== held) end = clock.monotonic() + STEP_MILLIS;
        ({ held, trouble } = now);
      } catch (error) {
        // A kube-apiserver may not know the back door yet.
        if (!(error instanceof ClusterError)) throw error;
        trouble = error.message;
      }
      if (signal.aborted || (trouble !== '' && clock.monotonic() >= end))
        throw new Error(`cannot remove finalizers: ${trouble}`);
      await sleep(clock, POLL_MILLIS, signal);
    }
  }

  private async removeFinalizersOnce(plural: string, signal: AbortSignal): Promise<{ held: number; trouble: string }> {
    const { client, group, rate } = this.options;
    const door = `/apis/${group}/${DOOR}`;
    let [held, trouble] = [0, ''];
    await eachPage(async (query) => {
      await this.check();
      const page = await client.metadata(`${door}/${plural}${query}`);
      const items = objectsOf(page['items']) as unknown as readonly KubeObject[];
      for (const { metadata } of items) {
        const { namespace = '', name = '', finalizers, resourceVersion = '' } = metadata;
        if (stringsOf(finalizers).length === 0) continue;
        held++;
        const scope = namespace === '' ? '' : `/namespaces/${namespace}`;
        const path = `${door}${scope}/${plural}/${encodeURIComponent(name)}`;
        const free = { metadata: { finalizers: null, resourceVersion } };
        const { status, body } = await client.call('PATCH', path, free, MERGE);
        if (status >= 300) trouble = `${plural} ${namespace} ${name}: ${textOf(body['message'])}`;
      }
      await rate.take(items.length, signal);
      return page;
    });
    return { held, trouble };
  }

  private async remove({ metadata }: KubeObject, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.options;
    const { name = '', uid = '', resourceVersion = '' } = metadata;
    await this.check();
    // A replica that takes the group back changes the definition first, so the precondition fails.
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    await client.must('DELETE', `${CRDS}/${name}`, options);
    const look = async (): Promise<string> =>
      (await client.must('GET', `${CRDS}/${name}`))?.metadata.uid === uid
        ? `the CustomResourceDefinition ${name} is still being deleted`
        : '';
    await waitUntil(look, { clock, millis: STEP_MILLIS, pollMillis: POLL_MILLIS }, signal);
  }

  /** Throws if Annex does not serve the group for good. */
  private async check(): Promise<void> {
    const { journal } = this.options;
    await journal.read();
    if (journal.phase !== 'Served' || !journal.isWanted) throw new Error('Annex does not serve the group permanently');
  }

  private extent(): { readonly count: number; readonly size: string } {
    const { resources } = this.options.journal;
    const sum = (field: string): number => resources.reduce((all, one) => all + Number(one[field] ?? 0), 0);
    return { count: sum('copied'), size: sizeText(sum('bytes')) };
  }
}

/** Reports whether to free the cluster's copy: it is not to be retained, or its definitions are being deleted, held up by objects with finalizers. */
export const isFreed = (adoption: KubeObject, crds: readonly KubeObject[]): boolean =>
  crds.length > 0 &&
  (objectAt(objectAt(adoption, 'spec'), 'source')?.['retain'] === false || crds.some(hasDeletionTimestamp));
