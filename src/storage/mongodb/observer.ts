/** Hears of what goes wrong in the background. */
export interface MongoObserver {
  /** The change stream broke off; it is opened anew. */
  streamFailed?(log: string, error: unknown): void;
  /** What is committed in a log could not be projected; it is tried again. */
  projectionFailed?(log: string, error: unknown): void;
  /** No write in a log succeeded for long; the commit path has begun anew with new connections. */
  startedOver?(log: string): void;
  /** The indexes of a type could not be brought up to date; it is tried again. */
  indexFailed?(resource: string, error: unknown): void;
}
