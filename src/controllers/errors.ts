import { ApiError } from '../apimachinery/meta/errors.js';

/** Whether a controller need not mind: the object is gone, somebody was faster, or its namespace is being deleted. */
export function isConflictOrNotFound(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.code === 404 || error.code === 409) return true;
  return error.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') === true;
}

/** Runs it and lets pass what a controller need not mind. */
export async function unlessOvertaken(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isConflictOrNotFound(error)) throw error;
  }
}
