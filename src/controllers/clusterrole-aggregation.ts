import type { KubeObject } from '../apimachinery/meta/meta.js';
import { aggregatedRules, aggregationSelectors, sameRules } from '../registry/builtin/rbac/aggregation.js';
import type { LoopbackClient } from '../registry/rest/loopback-client.js';
import type { Clock, Timer } from '../util/clock.js';

const FIELD_MANAGER = 'clusterrole-aggregation-controller';
const FIRST_RETRY_MILLIS = 5;
const LAST_RETRY_MILLIS = 60_000;

/**
 * Keeps the rules of aggregated ClusterRoles equal to those of the roles that their selectors match. Any change to a ClusterRole
 * re-evaluates all aggregated ones: there are few, and their dependencies are not known beforehand.
 */
export class ClusterRoleAggregation {
  private readonly roles = new Map<string, KubeObject>();
  private synced = false;
  private running = false;
  private again = false;
  private failures = 0;
  private retry: Timer | undefined;

  constructor(
    private readonly client: LoopbackClient,
    private readonly clock: Clock,
    /** Called for each failed attempt; the controller retries later. */
    private readonly failed: (text: string) => void,
  ) {}

  start(signal: AbortSignal): void {
    this.client.watch(
      {
        upsert: (role) => {
          this.roles.set(role.metadata.name ?? '', role);
          this.changed(signal);
        },
        delete: (role) => {
          this.roles.delete(role.metadata.name ?? '');
          this.changed(signal);
        },
        reset: () => {
          this.synced = false;
          this.roles.clear();
        },
        synced: () => {
          this.synced = true;
          this.changed(signal);
        },
      },
      signal,
    );
    signal.addEventListener('abort', () => this.retry?.cancel(), { once: true });
  }

  private changed(signal: AbortSignal): void {
    if (!this.synced) return;
    this.again = true;
    if (this.running) return;
    this.running = true;
    void this.run(signal);
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (this.again && !signal.aborted) {
      this.again = false;
      // Coalesce a burst of changes.
      await Promise.resolve();
      const complete = await this.aggregateAll(signal);
      if (complete) this.failures = 0;
      else this.retryLater(signal);
    }
    this.running = false;
  }

  private async aggregateAll(signal: AbortSignal): Promise<boolean> {
    let complete = true;
    for (const role of [...this.roles.values()]) {
      if (signal.aborted || !this.synced) return true;
      if (aggregationSelectors(role) === undefined) continue;
      const rules = aggregatedRules(role, this.roles.values());
      if (rules === undefined || sameRules(role, rules)) continue;
      const name = role.metadata.name ?? '';
      const apiVersion = 'rbac.authorization.k8s.io/v1';
      try {
        const wanted = rules.length === 0 ? {} : { rules };
        await this.client.apply({ apiVersion, kind: 'ClusterRole', metadata: { name }, ...wanted }, FIELD_MANAGER);
      } catch (error) {
        this.failed(`${name} failed with : ${String(error)}`);
        complete = false;
      }
    }
    return complete;
  }

  private retryLater(signal: AbortSignal): void {
    const millis = Math.min(FIRST_RETRY_MILLIS * 2 ** this.failures++, LAST_RETRY_MILLIS);
    this.retry?.cancel();
    this.retry = this.clock.setTimer(millis, () => this.changed(signal));
  }
}
