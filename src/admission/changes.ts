/** Counts changes and notifies listeners of each. */
export class Changes {
  private count = 0;
  private readonly listeners = new Set<() => void>();

  get generation(): number {
    return this.count;
  }

  notify(): void {
    this.count++;
    for (const listener of [...this.listeners]) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
