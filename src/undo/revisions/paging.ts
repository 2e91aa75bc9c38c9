import { newBadRequest, newResourceExpired } from '../../apimachinery/meta/errors.js';
import type { ListOptions } from '../../registry/rest/storage.js';
import {
  type ContinueToken,
  ContinueTokenError,
  decodeContinueToken,
  digestOf,
  encodeContinueToken,
} from '../../storage/continue-token.js';
import { parseListResourceVersion } from '../../storage/resource-version.js';
import { revisionOfName } from '../names.js';
import type { ShownRevision } from './shown-revision.js';

/** Where a page begins. */
export interface Page {
  /** The revision that the list shows; 0: the newest. */
  readonly revision: number;
  /** True if the client asked for the revision. */
  readonly wasGiven: boolean;
  /** The revision behind which the page begins. */
  readonly after: number;
  /** The name of the last object before the page; '' for the first page. */
  readonly name: string;
}

/** Reads where a list begins. Throws ApiError. */
export function pageOf(options: ListOptions): Page {
  if (options.continue === '') {
    const given = parseListResourceVersion(options.resourceVersion);
    const isExact = options.resourceVersionMatch === 'Exact' || (options.limit > 0 && given > 0);
    return { revision: isExact ? given : 0, wasGiven: isExact, after: 0, name: '' };
  }
  const token = tokenIn(options.continue);
  if (token.bound?.sum !== sumOf(token, options))
    throw newBadRequest(
      'continue key is not valid: the token belongs to another list; each page is asked for with the parameters of the first',
    );
  const after = revisionOfName(token.startKey);
  if (after === undefined) throw newBadRequest('invalid continue token: continue key is not valid');
  if (token.revision <= 0)
    throw newResourceExpired('The provided continue parameter is too old to display a consistent list result.');
  return { revision: token.revision, wasGiven: false, after, name: token.startKey };
}

/** Returns the token of the page behind an object. */
export function tokenOf(revision: number, last: ShownRevision, options: ListOptions): string {
  const token = { revision, startKey: last.attributes.fields['metadata.name'] ?? '' };
  const sum = sumOf(token, options);
  const bound = options.bound !== undefined && sum !== undefined ? { now: options.bound.now, sum } : undefined;
  return encodeContinueToken({ ...token, bound });
}

function tokenIn(text: string): ContinueToken {
  try {
    return decodeContinueToken(text);
  } catch (error) {
    if (error instanceof ContinueTokenError) throw newBadRequest(`invalid continue token: ${error.message}`);
    throw error;
  }
}

const sumOf = (token: ContinueToken, { bound }: ListOptions): string | undefined =>
  bound && digestOf(bound.to, token, bound.now);
