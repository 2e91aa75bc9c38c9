import type { ObjectPredicate } from '../interfaces.js';
import type { Deliveries } from './deliveries.js';
import type { Change } from './events.js';
import { WatchGroup, type Member, type Scope } from './group.js';

type GroupId = ObjectPredicate | string;

/**
 * The live watchers of a type by scope: a single key, a name in any namespace, a namespace, or everything. A change only touches the groups
 * that its key leads to.
 */
export class WatchGroups {
  private readonly slots = new Map<string, Map<GroupId, WatchGroup>>();
  private readonly kinds = { key: 0, name: 0, prefix: 0 };
  private readonly dirty = new Set<WatchGroup>();

  constructor(private readonly deliveries: Deliveries) {}

  join(member: Member, scope: Scope): void {
    const { slot, kind } = place(scope);
    let groups = this.slots.get(slot);
    if (groups === undefined) {
      groups = new Map<GroupId, WatchGroup>();
      this.slots.set(slot, groups);
      if (kind !== 'all') this.kinds[kind]++;
    }
    const id = groupId(scope);
    let group = groups.get(id);
    if (group === undefined) {
      group = new WatchGroup(scope);
      groups.set(id, group);
    }
    group.join(member);
  }

  leave(member: Member, scope: Scope): void {
    const { slot, kind } = place(scope);
    const groups = this.slots.get(slot);
    const group = groups?.get(groupId(scope));
    if (groups === undefined || group?.leave(member) !== true) return;
    if (group.isEmpty) {
      groups.delete(groupId(scope));
      this.dirty.delete(group);
    }
    if (groups.size > 0) return;
    this.slots.delete(slot);
    if (kind !== 'all') this.kinds[kind]--;
  }

  /** Finds the watchers that a change concerns; they receive it with the next `flush`. */
  collect(change: Change): void {
    if (this.slots.size === 0) return;
    const { key } = change;
    this.collectFrom(ALL, change);
    if (this.kinds.key > 0) this.collectFrom(`k${key}`, change);
    if (this.kinds.name === 0 && this.kinds.prefix === 0) return;
    const slash = key.indexOf('/');
    if (this.kinds.prefix > 0 && slash >= 0) this.collectFrom(`p${key.slice(0, slash + 1)}`, change);
    if (this.kinds.name > 0) this.collectFrom(`n${key.slice(slash + 1)}`, change);
  }

  /** Delivers what was collected: at once, or in slices if it concerns many watchers. */
  flush(): void {
    if (this.dirty.size === 0) return;
    const groups = [...this.dirty];
    this.dirty.clear();
    this.deliveries.add(groups);
  }

  /** Delivers to a member what it has not received yet. */
  deliverTo(member: Member, scope: Scope): void {
    this.slots.get(place(scope).slot)?.get(groupId(scope))?.deliverTo(member);
  }

  private collectFrom(slot: string, change: Change): void {
    const groups = this.slots.get(slot);
    if (groups === undefined) return;
    for (const group of groups.values()) {
      if (!change.key.startsWith(group.scope.prefix)) continue;
      const event = change.eventFor(group.scope.predicate);
      if (event === undefined) continue;
      group.add(event);
      this.dirty.add(group);
    }
  }
}

const ALL = 'all';

function place({ prefix, key, predicate }: Scope): {
  readonly slot: string;
  readonly kind: 'all' | 'key' | 'name' | 'prefix';
} {
  const wanted =
    key ?? (predicate.name !== undefined && prefix.endsWith('/') ? `${prefix}${predicate.name}` : undefined);
  if (wanted !== undefined) return { slot: `k${wanted}`, kind: 'key' };
  if (prefix === '' && predicate.name !== undefined) return { slot: `n${predicate.name}`, kind: 'name' };
  if (prefix === '' && predicate.namespace !== undefined && predicate.namespace !== '')
    return { slot: `p${predicate.namespace}/`, kind: 'prefix' };
  if (prefix.indexOf('/') === prefix.length - 1 && prefix !== '') return { slot: `p${prefix}`, kind: 'prefix' };
  return { slot: ALL, kind: 'all' };
}

function groupId({ prefix, predicate }: Scope): GroupId {
  if (predicate.everything) return `${prefix} everything`;
  return predicate.id === undefined ? predicate : `${prefix} is ${predicate.id}`;
}
