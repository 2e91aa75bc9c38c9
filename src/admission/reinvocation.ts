/**
 * What the mutating plugins of one request tell each other about a second pass (apiserver, admission.ReinvocationContext). The
 * chain makes it; a plugin that changed the object after others have seen it asks for the second pass, in which every plugin runs again.
 */
export class Reinvocation {
  private again = false;
  private wanted = false;
  private readonly states = new Map<string, unknown>();

  /** Whether this is the second pass. */
  get isReinvoked(): boolean {
    return this.again;
  }

  get isRequested(): boolean {
    return this.wanted;
  }

  /** Asks for a second pass; there is never a third. */
  request(): void {
    this.wanted = true;
  }

  /** Called by the chain alone. */
  begin(): void {
    this.again = true;
  }

  /** What a plugin remembers from the first pass. */
  state<T>(plugin: string, make: () => T): T {
    if (!this.states.has(plugin)) this.states.set(plugin, make());
    return this.states.get(plugin) as T;
  }
}
