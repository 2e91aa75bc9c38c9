import { deepCopy, deepEqual, type JsonValue } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';

/** Tracks which webhooks or policies of a mutating plugin run again in the second pass over a request. */
export class ReinvokeContext {
  private readonly invoked = new Set<string>();
  private readonly again = new Set<string>();
  private output: JsonValue | undefined;

  shouldReinvoke(key: string): boolean {
    return this.again.has(key);
  }

  /** Marks the reinvocable ones that have run so far to run again. */
  requireReinvokingPreviouslyInvoked(): void {
    for (const key of this.invoked) this.again.add(key);
    this.invoked.clear();
  }

  addReinvocable(key: string): void {
    this.invoked.add(key);
  }

  /** Reports whether another plugin has changed the object since this one last saw it. */
  isOutputChanged(object: KubeObject | undefined): boolean {
    return !deepEqual(this.output ?? null, object ?? null);
  }

  /** Records the object as the plugin left it. */
  setLastOutput(object: KubeObject | undefined): void {
    this.output = deepCopy(object);
  }
}
