/** The ConfigMap that `annex detach` writes, in the namespace of the Service: while it exists, no replica registers anything. */
export const DETACHED = 'annex-detached';
