import { deepCopy, deepEqual, type JsonValue } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';

/** Which mutations of a request run again in the second pass of the mutating plugins. */
export class PolicyReinvocation {
  private readonly invoked = new Set<string>();
  private readonly again = new Set<string>();
  private output: JsonValue | undefined;

  shouldReinvoke(key: string): boolean {
    return this.again.has(key);
  }

  /** What has run so far and wants to is going to run again. */
  requireReinvoking(): void {
    for (const key of this.invoked) this.again.add(key);
    this.invoked.clear();
  }

  addReinvocable(key: string): void {
    this.invoked.add(key);
  }

  /** Whether another plugin has changed the object since the policies have seen it. */
  isChanged(object: KubeObject | undefined): boolean {
    return !deepEqual(this.output ?? null, object ?? null);
  }

  /** Remembers what the policies made of the object. */
  seen(object: KubeObject | undefined): void {
    this.output = deepCopy(object);
  }
}
