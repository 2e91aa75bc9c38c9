import { servedVersions } from '../../registry/builtin/kubeannex/resource-definitions.js';
import { deepCopy, objectAt } from '../../apimachinery/json/json.js';
import { conditionsOf, transitionTime } from '../../apimachinery/meta/conditions.js';
import { hasDeletionTimestamp, type KubeObject, nameOf, groupOf } from '../../apimachinery/meta/meta.js';
import { afterOutage } from '../../registry/apiextensions/resourcedefinition/store-available.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { exceptConflicts } from '../errors.js';

const CONDITION = 'Registered';

interface State {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Reports in the status of definitions whether all their group versions are registered with the cluster, and when the store was away. */
export class DefinitionRegistration {
  private readonly definitions = new Map<string, KubeObject>();
  /** By `<group>/<version>`; bounded by the served versions. */
  private readonly states = new Map<string, State>();
  private readonly queue: WorkQueue;
  private outage: { readonly began: number; readonly ended: number } | undefined;

  constructor(
    private readonly client: LoopbackClient,
    private readonly clock: Clock,
    failed: (name: string, error: unknown) => void,
  ) {
    this.queue = new WorkQueue({
      name: 'crd_autoregistration_controller',
      clock,
      reconcile: (name) => this.sync(name),
      onError: exceptConflicts(failed),
    });
  }

  start(signal: AbortSignal): void {
    this.client.watch(
      {
        upsert: (definition) => {
          this.definitions.set(nameOf(definition), definition);
          this.queue.add(nameOf(definition));
        },
        delete: (definition) => {
          this.definitions.delete(nameOf(definition));
          this.forget(groupOf(definition));
        },
        reset: () => this.definitions.clear(),
      },
      signal,
    );
    this.queue.stopOn(signal);
  }

  registered(group: string, version: string): void {
    const message = `the group version ${group}/${version} is registered with the cluster`;
    this.setState(group, version, { status: 'True', reason: 'APIServiceRegistered', message });
  }

  /** Records that the group version belongs to another APIService. Returns true if that is new. */
  refused(group: string, version: string, { reason, message: why }: Pick<State, 'reason' | 'message'>): boolean {
    const message = `the group version ${group}/${version} cannot be registered: ${why}`;
    return this.setState(group, version, { status: 'False', reason, message });
  }

  /** Records that Annex is detached from the cluster. */
  detached(group: string, version: string): void {
    const message = `the group version ${group}/${version} is not registered: annex detach took Annex out of the cluster, annex attach puts it back`;
    this.setState(group, version, { status: 'False', reason: 'Detached', message });
  }

  /** Records that the cluster refused the registration. */
  failed(group: string, version: string, why: string): void {
    const message = `the group version ${group}/${version} could not be registered: ${why}`;
    this.setState(group, version, { status: 'False', reason: 'RegistrationFailed', message });
  }

  /** Records an outage of the store that has just ended. */
  storeAnswers(awayMillis: number): void {
    const now = this.clock.now();
    this.outage = { began: now - awayMillis, ended: now };
    for (const name of this.definitions.keys()) this.queue.add(name);
  }

  private setState(group: string, version: string, state: State): boolean {
    const key = `${group}/${version}`;
    const before = this.states.get(key);
    if (before?.reason === state.reason && before.message === state.message) return false;
    this.states.set(key, state);
    for (const [name, definition] of this.definitions) if (groupOf(definition) === group) this.queue.add(name);
    return true;
  }

  /** Drops the states of a group without definitions. */
  private forget(group: string): void {
    if ([...this.definitions.values()].some((definition) => groupOf(definition) === group)) return;
    for (const key of this.states.keys()) if (key.startsWith(`${group}/`)) this.states.delete(key);
  }

  private async sync(name: string): Promise<void> {
    const definition = this.definitions.get(name);
    if (definition === undefined || hasDeletionTimestamp(definition)) return;
    const registered = this.withRegistration(definition);
    const next = (this.outage && afterOutage(registered ?? definition, this.outage)) ?? registered;
    if (next !== undefined) await this.client.updateStatus(next);
  }

  /** Returns undefined if the condition is already there, or not known yet. */
  private withRegistration(definition: KubeObject): KubeObject | undefined {
    const group = groupOf(definition);
    const states = servedVersions(definition).map((version) => this.states.get(`${group}/${version}`));
    // A failure is reported at once, success only when the state of every version is known.
    const worst = states.find((state) => state?.status === 'False');
    const state = worst ?? (states.includes(undefined) ? undefined : states[0]);
    return state && withCondition(definition, state, this.clock.now());
  }
}

/** Returns undefined if the condition is already there. */
function withCondition(definition: KubeObject, state: State, now: number): KubeObject | undefined {
  const next = deepCopy(definition);
  const old = conditionsOf(next).find(({ type }) => type === CONDITION);
  const { status, reason, message } = state;
  if (old?.['status'] === status && old['message'] === message && old['reason'] === reason) return undefined;
  const kept = conditionsOf(next).filter((one) => one !== old);
  const condition = { type: CONDITION, status, reason, message, lastTransitionTime: transitionTime(old, status, now) };
  next['status'] = { ...objectAt(next, 'status'), conditions: [...kept, condition] };
  return next;
}
