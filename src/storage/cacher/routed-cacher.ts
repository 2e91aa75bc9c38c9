import { backendOf, type LogSet } from '../routed-backend.js';
import { HEALTHY, type Backend, type Health } from '../interfaces.js';
import type { LogIdentities } from '../log-identity.js';
import { Budget } from './budget.js';
import { WorkingSet } from './tree/working-set.js';
import { DEFAULT_BUDGET_BYTES, StorageCacher, type CacherOptions, type CacherStats } from './cacher.js';
import type { CachedType, Cacher, ResourceCache } from './interfaces.js';

/** The caches of a store with several logs. The cache of a type follows the log of that type. All caches share one budget. */
export class RoutedCacher implements Cacher {
  private readonly cachers = new Map<Backend, StorageCacher>();
  private readonly main: StorageCacher;

  constructor(
    private readonly logs: LogSet,
    options: Omit<CacherOptions, 'backend' | 'budget' | 'warmth' | 'logId' | 'renewLogId'> & {
      readonly identities?: LogIdentities;
    },
  ) {
    const { budgetBytes = DEFAULT_BUDGET_BYTES, identities } = options;
    const budget = new Budget(budgetBytes);
    const warmth = new WorkingSet(budgetBytes / 2);
    const make = (backend: Backend): StorageCacher => {
      const logId = (): string | undefined => identities?.of(backend);
      const renewLogId = async (): Promise<void> => identities?.renew(backend);
      const cacher = new StorageCacher({ ...options, backend, budget, warmth, logId, renewLogId });
      this.cachers.set(backend, cacher);
      return cacher;
    };
    this.main = make(logs.main);
    for (const backend of logs.others.values()) make(backend);
  }

  async start(): Promise<void> {
    for (const cacher of this.cachers.values()) await cacher.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.cachers.values()].map((cacher) => cacher.stop()));
  }

  add(type: CachedType): ResourceCache {
    return this.cacherOf(type.resource).add(type);
  }

  remove(resource: string): void {
    this.cacherOf(resource).remove(resource);
  }

  reload(resource: string): void {
    this.cacherOf(resource).reload(resource);
  }

  healthy(): Health {
    const states = [...this.cachers.values()].map((cacher) => cacher.healthy());
    return states.find(({ ok }) => !ok) ?? HEALTHY;
  }

  stats(): CacherStats {
    const each = [...this.cachers.values()].map((cacher) => cacher.stats());
    const { budget, warmth } = this.main.stats();
    return {
      budget,
      warmth,
      history: {
        events: each.reduce((sum, { history }) => sum + history.events, 0),
        bytes: each.reduce((sum, { history }) => sum + history.bytes, 0),
      },
      loads: {
        waiting: each.reduce((sum, { loads }) => sum + loads.waiting, 0),
        refused: each.reduce((sum, { loads }) => sum + loads.refused, 0),
      },
      types: each.flatMap(({ types }) => types),
    };
  }

  private cacherOf(resource: string): StorageCacher {
    return this.cachers.get(backendOf(this.logs, resource)) ?? this.main;
  }
}
