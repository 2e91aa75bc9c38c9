/**
 * The signal for work that is shared by requests, or that has a timeout of its own. Creating a signal costs more than authenticating and
 * authorizing a request from memory.
 */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;
