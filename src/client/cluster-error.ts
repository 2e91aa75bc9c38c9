/** A request to the cluster's API server that did not succeed; `status` 0 means that there was no response. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}
