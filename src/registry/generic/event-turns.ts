import type { KubeObject } from '../../apimachinery/meta.js';
import type { CachedObject, WatchEvent } from '../../storage/cacher/interfaces.js';
import { nextTurn } from '../../storage/slicing.js';
import type { VersionView } from '../rest/interfaces.js';
import type { TypeListener } from '../rest/type-client.js';

/** Objects from here on (bytes) are worked on in turns, so that nobody waits for all of it: what is told of them, and writes. */
export const LARGE = 64 << 10;

/** Tells of events in their order: of large objects in a turn of their own, of all others at once. */
export class EventTurns {
  private readonly waiting: WatchEvent[] = [];
  /** Resolves when there is nothing left to tell. */
  told: Promise<void> = Promise.resolve();

  constructor(
    private readonly tellOf: (event: WatchEvent) => void,
    private readonly failed: () => void,
  ) {}

  add(event: WatchEvent): void {
    if (this.waiting.length === 0 && !isLarge(event)) {
      this.tellOf(event);
      return;
    }
    this.waiting.push(event);
    if (this.waiting.length > 1) return;
    this.told = this.tellAll();
    this.told.catch(this.failed);
  }

  private async tellAll(): Promise<void> {
    for (let event = this.waiting[0]; event !== undefined; event = this.waiting[0]) {
      if (isLarge(event)) await ownTurn();
      this.tellOf(event);
      this.waiting.shift();
    }
  }
}

type View = Pick<VersionView, 'toObject'>;

let turns: Promise<void> = Promise.resolve();

/** A turn that nobody else who asks for one has. */
export function ownTurn(): Promise<void> {
  turns = turns.then(nextTurn);
  return turns;
}

/** The large object that was decoded last, for all who are told of it one after the other: nobody changes it. */
let last: { readonly from: WeakRef<CachedObject>; readonly view: View; readonly object: KubeObject } | undefined;

function decoded(from: CachedObject, view: View): KubeObject {
  if (last?.from.deref() === from && last.view === view) return last.object;
  const made = { from: new WeakRef(from), view, object: view.toObject(from) };
  last = made;
  void ownTurn()
    .then(ownTurn)
    .then(() => {
      if (last === made) last = undefined;
    });
  return made.object;
}

const isLarge = ({ object }: WatchEvent): boolean => (object?.bytes.length ?? 0) >= LARGE;

/** Whether a key, `namespace/name` or `name`, ends in the name. */
const hasName = (key: string, name: string): boolean =>
  key.endsWith(name) && (key.length === name.length || key[key.length - name.length - 1] === '/');

/** Tells a listener of an event, in a version of the type. */
export function tell(listener: TypeListener, event: WatchEvent, view: View): void {
  if (event.object === undefined) {
    if (event.initialEventsEnd) listener.synced();
    return;
  }
  if (listener.only !== undefined && !hasName(event.object.key, listener.only)) return;
  let object: KubeObject;
  try {
    object = isLarge(event) ? decoded(event.object, view) : view.toObject(event.object);
  } catch {
    // What cannot be decoded is nobody's business but the administrator's.
    return;
  }
  if (event.type === 'DELETED') listener.delete(object);
  else listener.upsert(object);
}
