import type { AdmissionAttributes, AdmissionChain, AdmissionOperation, AdmissionPlugin } from './interfaces.js';
import type { AdmissionMetrics, StepTimes, StepType } from './metrics.js';
import { Reinvocation } from './reinvocation.js';
import { type MaybePromise, then, runFinally } from '../util/maybe-promise.js';

/**
 * Runs plugins in sequence; a plugin that returns synchronously creates no promise. A mutating plugin may request one
 * second pass over all of them.
 */
export function admissionChain(plugins: readonly AdmissionPlugin[], metrics?: AdmissionMetrics): AdmissionChain {
  const mutating = new Step('admit', plugins, metrics);
  const validating = new Step('validate', plugins, metrics);
  const mutate = (attributes: AdmissionAttributes, reinvocation: Reinvocation): MaybePromise<void> =>
    mutating.run(attributes.operation, (plugin) => plugin.admit?.(attributes, reinvocation));
  return {
    mutates: (operation: AdmissionOperation) => mutating.handles(operation),
    readsObjects: (operation, resource) =>
      plugins.some((plugin) => plugin.handles(operation) && plugin.readsObjects?.(resource) !== false),
    admit: (attributes) =>
      mutating.timed(attributes.operation, () => {
        const reinvocation = new Reinvocation();
        const again = (): MaybePromise<void> => {
          if (!reinvocation.isRequested) return;
          reinvocation.begin();
          return mutate(attributes, reinvocation);
        };
        return then(mutate(attributes, reinvocation), again);
      }),
    validate: (attributes) =>
      validating.timed(attributes.operation, () =>
        validating.run(attributes.operation, (plugin) => plugin.validate?.(attributes)),
      ),
  };
}

type Call = (plugin: AdmissionPlugin) => MaybePromise<void>;

interface TimedPlugin {
  readonly plugin: AdmissionPlugin;
  readonly times: StepTimes | undefined;
}

const NO_TIME = (): number => 0;

/** The plugins that take part in one of the two steps. */
class Step {
  private readonly plugins: readonly TimedPlugin[];
  private readonly times: StepTimes | undefined;
  private readonly now: () => number;

  constructor(type: StepType, plugins: readonly AdmissionPlugin[], metrics: AdmissionMetrics | undefined) {
    this.plugins = plugins
      .filter((plugin) => plugin[type] !== undefined)
      .map((plugin) => ({ plugin, times: metrics?.plugin(plugin.name, type) }));
    this.times = metrics?.step(type);
    this.now = metrics?.monotonic ?? NO_TIME;
  }

  handles(operation: AdmissionOperation): boolean {
    return this.plugins.some(({ plugin }) => plugin.handles(operation));
  }

  /** Measures the duration of the whole step. */
  timed(operation: AdmissionOperation, work: () => MaybePromise<void>): MaybePromise<void> {
    const { times } = this;
    if (times === undefined || !this.handles(operation)) return work();
    const start = this.now();
    return runFinally(work, (error) => times.observe(operation, error !== undefined, this.now() - start));
  }

  run(operation: AdmissionOperation, call: Call, from = 0): MaybePromise<void> {
    const { plugins } = this;
    // One clock reading ends the time of a plugin and starts that of the next.
    let start = this.now();
    for (let i = from; i < plugins.length; i++) {
      const { plugin, times } = plugins[i] as TimedPlugin;
      if (!plugin.handles(operation)) continue;
      let pending: MaybePromise<void>;
      try {
        pending = call(plugin);
      } catch (error) {
        times?.observe(operation, true, this.now() - start);
        throw error;
      }
      if (pending instanceof Promise) {
        const done = times === undefined ? pending : this.observed(pending, times, operation, start);
        return done.then(() => this.run(operation, call, i + 1));
      }
      if (times === undefined) continue;
      const end = this.now();
      times.observe(operation, false, end - start);
      start = end;
    }
  }

  private observed(
    pending: Promise<void>,
    times: StepTimes,
    operation: AdmissionOperation,
    start: number,
  ): Promise<void> {
    return pending.then(
      () => times.observe(operation, false, this.now() - start),
      (error: unknown) => {
        times.observe(operation, true, this.now() - start);
        throw error;
      },
    );
  }
}
