import { digText, treeOf } from '../integration/client.js';
import { pause } from '../storage/mongod.js';
import type { TestCluster } from './cluster.js';
import { widgetsPath, widgetText } from './widgets.js';

const PAUSE_MILLIS = 20;

export interface LoadReport {
  /** The names and versions of acknowledged objects. */
  readonly acknowledged: ReadonlyMap<string, string>;
  /** The number of answers with each other status. Status 0: the connection broke. */
  readonly refused: Readonly<Record<string, number>>;
  /** The texts of the refusals. */
  readonly said: readonly string[];
  /** The longest time from one acknowledged write to the next, in milliseconds. */
  readonly gap: number;
}

/** Creates objects through the aggregator, one after another, until stopped. */
export class Load {
  private readonly acknowledged = new Map<string, string>();
  private readonly refused: Record<string, number> = {};
  private readonly said = new Set<string>();
  private stopped = false;
  private last = performance.now();
  private gap = 0;
  private readonly done: Promise<void>;

  constructor(
    private readonly cluster: TestCluster,
    private readonly namespace: string,
    private readonly prefix: string,
  ) {
    this.done = this.run();
  }

  get count(): number {
    return this.acknowledged.size;
  }

  async stop(): Promise<LoadReport> {
    this.stopped = true;
    await this.done;
    const { acknowledged, refused, gap, said } = this;
    return { acknowledged, refused, said: [...said], gap: Math.round(gap) };
  }

  private async run(): Promise<void> {
    for (let i = 0; !this.stopped; i++) {
      const name = `${this.prefix}-${i}`;
      const status = await this.create(name);
      if (status === 201) {
        const now = performance.now();
        this.gap = Math.max(this.gap, now - this.last);
        this.last = now;
      } else this.refused[status] = (this.refused[status] ?? 0) + 1;
      await pause(PAUSE_MILLIS);
    }
  }

  private async create(name: string): Promise<number> {
    try {
      const answer = await this.cluster.http.post(widgetsPath(this.namespace), widgetText(name, { colour: 'red' }));
      if (answer.status === 201) this.acknowledged.set(name, digText(treeOf(answer), 'metadata', 'resourceVersion'));
      else this.said.add(answer.text.slice(0, 500));
      return answer.status;
    } catch (error) {
      this.said.add(String(error));
      return 0;
    }
  }
}
