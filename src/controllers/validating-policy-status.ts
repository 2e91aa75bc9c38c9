import { ApiError } from '../apimachinery/meta/errors.js';
import { objectAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { checkPolicyTypes, type KnownTypes } from '../registry/builtin/admissionregistration/type-checking.js';
import type { LoopbackClient } from '../registry/rest/loopback-client.js';
import type { Clock, Timer } from '../util/clock.js';

const FIRST_RETRY_MILLIS = 5;
const LAST_RETRY_MILLIS = 60_000;

/** The field manager of this controller's writes. */
const POLICY_STATUS_MANAGER = 'validatingadmissionpolicy-status';

export interface PolicyStatusOptions {
  readonly client: LoopbackClient;
  readonly types: KnownTypes;
  readonly clock: Clock;
  /** Called for each failed attempt; the controller retries later. */
  readonly failed: (text: string, error: unknown) => void;
}

/** Type-checks the expressions of validating admission policies against the types that they match, and writes the warnings into their status. */
export class ValidatingPolicyStatus {
  /** The latest state of the policies still to be checked, by name. */
  private readonly waiting = new Map<string, KubeObject>();
  private running = false;
  private failures = 0;
  private retry: Timer | undefined;

  constructor(private readonly options: PolicyStatusOptions) {}

  start(signal: AbortSignal): void {
    this.options.client.watch(
      {
        upsert: (policy) => {
          if (isObserved(policy)) return;
          this.waiting.set(policy.metadata.name ?? '', policy);
          this.wake(signal);
        },
        delete: (policy) => {
          this.waiting.delete(policy.metadata.name ?? '');
        },
        reset: () => this.waiting.clear(),
      },
      signal,
    );
    signal.addEventListener('abort', () => this.retry?.cancel(), { once: true });
  }

  private wake(signal: AbortSignal): void {
    if (this.running) return;
    this.running = true;
    void this.run(signal);
  }

  private async run(signal: AbortSignal): Promise<void> {
    // Coalesce a burst of changes.
    await Promise.resolve();
    for (const [name, policy] of this.waiting) {
      if (signal.aborted) return;
      if (!(await this.write(policy))) break;
      if (this.waiting.get(name) === policy) this.waiting.delete(name);
    }
    this.running = false;
    if (this.waiting.size > 0) this.retryLater(signal);
  }

  private async write(policy: KubeObject): Promise<boolean> {
    const { client, types, failed } = this.options;
    try {
      const warnings = checkPolicyTypes(policy, types);
      const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
      await client.applyStatus(
        {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicy',
          metadata: { name: policy.metadata.name ?? '' },
          status: { observedGeneration: policy.metadata.generation ?? 0, typeChecking },
        },
        POLICY_STATUS_MANAGER,
      );
      this.failures = 0;
      return true;
    } catch (error) {
      // The policy is gone.
      if (error instanceof ApiError && error.code === 404) return true;
      failed(policy.metadata.name ?? '', error);
      return false;
    }
  }

  private retryLater(signal: AbortSignal): void {
    const millis = Math.min(FIRST_RETRY_MILLIS * 2 ** this.failures++, LAST_RETRY_MILLIS);
    this.retry?.cancel();
    this.retry = this.options.clock.setTimer(millis, () => {
      if (!signal.aborted) this.wake(signal);
    });
  }
}

function isObserved(policy: KubeObject): boolean {
  const observed = objectAt(policy, 'status')?.['observedGeneration'];
  return (policy.metadata.generation ?? 0) <= (typeof observed === 'number' ? observed : 0);
}
