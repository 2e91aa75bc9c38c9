/** Tracks the watches being served, so that a server that shuts down can end them. */
export class WatchTracker {
  private readonly running = new Set<() => void>();
  private over = false;

  get size(): number {
    return this.running.size;
  }

  /** Adds a watch and returns the function that removes it. A watch added after `endAll` ends at once. */
  add(end: () => void): () => void {
    if (this.over) {
      end();
      return () => undefined;
    }
    this.running.add(end);
    return () => this.running.delete(end);
  }

  endAll(): void {
    this.over = true;
    for (const end of [...this.running]) end();
    this.running.clear();
  }
}
