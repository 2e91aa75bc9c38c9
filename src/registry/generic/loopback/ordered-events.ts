import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { CachedObject, WatchEvent } from '../../../storage/cacher/interfaces.js';
import { yieldForOwnTurn } from '../../../scheduling/slicer.js';
import { OWN_TURN_BYTES } from '../../../scheduling/thresholds.js';
import type { ServedVersion } from '../../rest/served.js';
import type { ResourceEventHandler } from '../../rest/loopback-client.js';
import { decodedSliced } from '../../../storage/detached-object.js';

type View = Pick<ServedVersion, 'toObject' | 'prepare'>;

/**
 * Delivers events to a handler in order, in one version of the type. Large objects get turns of the event loop of their own; all
 * others are delivered at once.
 */
export class OrderedEvents {
  private readonly waiting: WatchEvent[] = [];
  /** Resolves when all events have been delivered. */
  delivered: Promise<void> = Promise.resolve();

  constructor(
    private readonly listener: ResourceEventHandler,
    private readonly view: View,
    private readonly onError: () => void,
  ) {}

  add(event: WatchEvent): void {
    if (this.waiting.length === 0 && !isLarge(event)) {
      this.deliver(event);
      return;
    }
    this.waiting.push(event);
    if (this.waiting.length > 1) return;
    this.delivered = this.deliverAll();
    this.delivered.catch(this.onError);
  }

  private async deliverAll(): Promise<void> {
    for (let event = this.waiting[0]; event !== undefined; event = this.waiting[0]) {
      if (isLarge(event)) await this.deliverLarge(event);
      else this.deliver(event);
      this.waiting.shift();
    }
  }

  private deliver(event: WatchEvent): void {
    const { object } = event;
    if (object === undefined) {
      if (event.initialEventsEnd) this.listener.synced?.();
      return;
    }
    // The handler keeps the last state it saw of an undecodable object; the cacher reports the error.
    if (object.undecodable || !this.isSelected(object)) return;
    let shown: KubeObject;
    try {
      shown = this.view.toObject(object);
    } catch {
      return;
    }
    this.dispatch(event, shown);
  }

  private async deliverLarge(event: WatchEvent): Promise<void> {
    if (event.object === undefined || !this.isSelected(event.object)) return;
    await yieldForOwnTurn();
    const shown = await decoded(event.object, this.view).catch(() => undefined);
    if (shown === undefined) return;
    await yieldForOwnTurn();
    this.dispatch(event, shown);
  }

  private isSelected({ key }: CachedObject): boolean {
    const { only } = this.listener;
    return only === undefined || hasName(key, only);
  }

  private dispatch({ type }: WatchEvent, object: KubeObject): void {
    if (type === 'DELETED') this.listener.delete?.(object);
    else this.listener.upsert(object);
  }
}

/** The large object decoded last, shared by all handlers: none of them modifies it. */
let last:
  { readonly from: WeakRef<CachedObject>; readonly view: View; readonly shown: Promise<KubeObject> } | undefined;

function decoded(from: CachedObject, view: View): Promise<KubeObject> {
  if (last?.from.deref() === from && last.view === view) return last.shown;
  const made = { from: new WeakRef(from), view, shown: show(from, view) };
  last = made;
  void made.shown
    .catch(() => undefined)
    .then(yieldForOwnTurn)
    .then(yieldForOwnTurn)
    .then(() => {
      if (last === made) last = undefined;
    });
  return made.shown;
}

async function show(object: CachedObject, view: View): Promise<KubeObject> {
  const decoding = view.prepare === undefined ? decodedSliced(object) : undefined;
  return view.toObject((await decoding) ?? object);
}

const isLarge = ({ object }: WatchEvent): boolean => (object?.bytes.length ?? 0) >= OWN_TURN_BYTES;

/** Reports whether a key, `namespace/name` or `name`, ends in the name. */
const hasName = (key: string, name: string): boolean =>
  key.endsWith(name) && (key.length === name.length || key[key.length - name.length - 1] === '/');
