/**
 * For work that is shared by requests, or bounded by a time of its own: making a signal costs more than authenticating and
 * authorizing a request from memory.
 */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;
