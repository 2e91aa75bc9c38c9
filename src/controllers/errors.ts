import { ApiError } from '../apimachinery/meta/errors.js';

/** Reports whether the object is gone or another writer was faster. */
export const isConflictOrNotFound = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 404 || error.code === 409);

/** Returns `report` for a queue: conflicts and objects that are gone are not reported, because a newer state is reconciled next. */
export const exceptConflicts =
  (report: (key: string, error: unknown) => void) =>
  (key: string, error: unknown): void => {
    if (!isConflictOrNotFound(error)) report(key, error);
  };

/** Reports whether a controller may ignore the error: as above, or the namespace is being deleted. */
export const isIgnorableError = (error: unknown): boolean =>
  isConflictOrNotFound(error) ||
  (error instanceof ApiError &&
    error.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') === true);

/** Runs `work` and swallows the errors that a controller may ignore. */
export async function swallowIgnorableErrors(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isIgnorableError(error)) throw error;
  }
}
