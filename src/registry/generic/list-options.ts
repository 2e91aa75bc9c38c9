import { newBadRequest } from '../../apimachinery/meta/errors.js';
import { ContinueTokenError, decodeContinueToken } from '../../storage/continue-token.js';
import type { ReadAt } from '../../storage/cacher/interfaces.js';
import type { SelectionPredicate } from '../../apimachinery/selectors/selection-predicate.js';
import { parseListResourceVersion } from './resource-version.js';

/** A list request whose options have been validated. */
export interface ListRequest {
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly limit: number;
  readonly continue: string;
  readonly predicate: SelectionPredicate;
}

/** The state that a list reads and the key that it starts from. */
export interface ListStart {
  readonly at: ReadAt;
  readonly from: string;
  /** True if the list was begun in another log, so that its state is no longer available. */
  readonly fromOtherLog?: boolean;
}

/**
 * Resolves the resourceVersion of a list (specification, List and get semantics). `log` identifies the log that the type's
 * revisions belong to.
 */
export function resolveList(request: ListRequest, log: string | undefined): ListStart {
  if (request.continue !== '') return resolveContinue(request, log);
  const revision = parseListResourceVersion(request.resourceVersion);
  const given = request.resourceVersion !== '';
  if (!given) return { at: { mode: 'most-recent' }, from: '' };
  if (request.resourceVersionMatch === 'Exact') {
    return { at: revision === 0 ? { mode: 'most-recent' } : { mode: 'exact', revision }, from: '' };
  }
  if (revision === 0) return { at: { mode: 'any' }, from: '' };
  // Without a match, a limit makes the version exact: later pages must agree with the first. A single object has no pages.
  const paged = request.limit > 0 && request.predicate.name === undefined;
  if (request.resourceVersionMatch === '' && paged) return { at: { mode: 'exact', revision }, from: '' };
  return { at: { mode: 'not-older-than', revision }, from: '' };
}

function resolveContinue(request: ListRequest, log: string | undefined): ListStart {
  try {
    const token = decodeContinueToken(request.continue);
    if (request.resourceVersion !== '' && request.resourceVersion !== '0') {
      throw newBadRequest('specifying resource version is not allowed when using continue');
    }
    const at: ReadAt = token.revision > 0 ? { mode: 'exact', revision: token.revision } : { mode: 'most-recent' };
    // A client that continues at the newest state has accepted an inconsistent list, whichever log the list was begun in.
    return { at, from: token.startKey, fromOtherLog: token.revision > 0 && token.log !== log };
  } catch (error) {
    if (error instanceof ContinueTokenError) throw newBadRequest(`invalid continue token: ${error.message}`);
    throw error;
  }
}
