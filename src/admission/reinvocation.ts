/**
 * The state that the mutating plugins of one request share for a second pass (apiserver,
 * admission.ReinvocationContext). The chain creates it. A plugin that changes the object after other plugins have seen
 * it requests a second pass, in which every plugin runs again.
 */
export class Reinvocation {
  private again = false;
  private wanted = false;
  private readonly states = new Map<string, unknown>();

  /** True in the second pass. */
  get isReinvoked(): boolean {
    return this.again;
  }

  get isRequested(): boolean {
    return this.wanted;
  }

  /** Requests a second pass. There is never a third. */
  request(): void {
    this.wanted = true;
  }

  /** Starts the second pass; only for the chain. */
  begin(): void {
    this.again = true;
  }

  /** Returns the state that a plugin keeps from the first pass. */
  state<T>(plugin: string, make: () => T): T {
    if (!this.states.has(plugin)) this.states.set(plugin, make());
    return this.states.get(plugin) as T;
  }
}
