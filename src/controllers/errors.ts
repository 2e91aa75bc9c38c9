import { ApiError } from '../apimachinery/meta/errors.js';

/** The object is gone, or somebody was faster. */
export const isConflictOrNotFound = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 404 || error.code === 409);

/** Whether a controller need not mind: likewise, or the namespace is being deleted. */
export const isOvertaken = (error: unknown): boolean =>
  isConflictOrNotFound(error) ||
  (error instanceof ApiError &&
    error.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') === true);

/** Runs it and lets pass what a controller need not mind. */
export async function unlessOvertaken(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isOvertaken(error)) throw error;
  }
}
