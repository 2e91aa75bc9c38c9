/** The watches that are being served, so that a server that stops can end them. */
export class WatchTracker {
  private readonly running = new Set<() => void>();
  private over = false;

  get size(): number {
    return this.running.size;
  }

  /** Returns the function that takes it off again. A watch that begins after the end is ended at once. */
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
