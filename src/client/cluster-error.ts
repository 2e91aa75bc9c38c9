/** The cluster's API server did not do what was asked; `status` 0: there was no answer. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}
