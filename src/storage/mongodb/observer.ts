/** Observes failures in the background. */
export interface MongoObserver {
  /** Called when the change stream failed; it is reopened. */
  streamFailed(log: string, error: unknown): void;
  /** Called when commits of a log could not be projected; this is retried. */
  projectionFailed(log: string, error: unknown): void;
  /** Called when no write to a log succeeded for a long time; the commit path has restarted with new connections. */
  startedOver(log: string): void;
  /** Called when a log was dropped or replaced, so that nothing is read or written, and when the reason why changes. */
  halted(log: string, reason: string): void;
  /** Called when a log that was replaced has been loaded and is in use again. */
  resumed(log: string): void;
  /** Called when the indexes of a type could not be updated; this is retried. */
  indexFailed(resource: string, error: unknown): void;
}
