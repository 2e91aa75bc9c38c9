import type { Party } from '../parties.js';
import { Side, type Value } from './side.js';
import type { ApiServer, World } from './world.js';

/** Lists, watches from there, and lists again when the watch requires it. */
export class Informer {
  held = new Map<string, Value>();
  private revision = 0;
  private isListed = false;
  private watching: { readonly server: ApiServer; readonly epoch: number } | Side | undefined;

  constructor(private readonly world: World) {}

  *party(): Party {
    for (;;) {
      yield;
      if (!this.isListed) this.list();
      else if (this.watching === undefined) this.watch();
      else this.receive();
    }
  }

  private get isLeaving(): boolean {
    const { definition, guards } = this.world;
    return guards.endWatches && (definition === 'Returning' || definition === 'Left');
  }

  private list(): void {
    const { world } = this;
    const server = world.random.pick(world.servers);
    const store = world.store(server);
    if (store === undefined) return;
    this.held = new Map(store.objects);
    this.revision = listedRevision(world, server, store);
    this.isListed = true;
    this.watching = undefined;
  }

  private watch(): void {
    const { world } = this;
    const server = world.random.pick(world.servers);
    const store = world.store(server);
    const { revision } = this;
    const isRefused = server.known.annex ? this.isLeaving || revision < world.first : revision < server.cacheFrom;
    if (store === undefined || isRefused) this.isListed = false;
    else this.watching = server.known.annex ? store : { server, epoch: server.epoch };
  }

  private receive(): void {
    const { watching, world } = this;
    if (watching instanceof Side) {
      if (this.isLeaving) this.isListed = false;
      else if (world.annex !== watching) this.watching = undefined;
      else this.take(watching);
    } else if (watching !== undefined) {
      if (watching.server.epoch !== watching.epoch) this.watching = undefined;
      else this.take(world.etcd);
    }
  }

  /** A watch from a future revision gets no events up to that revision. */
  private take({ changes, revision }: Side): void {
    for (const change of changes) {
      if (change.revision <= this.revision) continue;
      if (change.value === undefined) this.held.delete(change.key);
      else this.held.set(change.key, change.value);
    }
    this.revision = Math.max(this.revision, revision);
  }
}

/**
 * Lists through one kube-apiserver: revisions must not go back, whichever replica answers, or the cluster. There are two exceptions: a
 * cluster that has passed the first revision of Annex is above its lists, until the switch is given up; and see `isReopening`.
 */
export function* readerOf(world: World, server: ApiServer): Party {
  let revision = 0;
  let isOfCluster = false;
  for (;;) {
    yield;
    const store = world.store(server);
    if (world.isMeddled || world.isBroken || world.isReopening) revision = 0;
    if (store === undefined) continue;
    const now = listedRevision(world, server, store);
    const isAbove = isOfCluster && server.known.annex && revision >= world.first;
    if (now < revision && !isAbove)
      world.violations.push(`the revision of a list went back from ${revision} to ${now}`);
    revision = now;
    isOfCluster = !server.known.annex;
  }
}

/** Any replica answers, as far as it knows the stage. */
function listedRevision(world: World, server: ApiServer, store: Side): number {
  const { stage, last } = world.random.pick(world.replicas);
  const isPinned = world.guards.pin && server.known.annex && (stage === 'Returning' || stage === 'Left');
  return isPinned ? Math.min(store.revision, last) : store.revision;
}
