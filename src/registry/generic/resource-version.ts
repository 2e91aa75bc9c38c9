import { ApiError, newBadRequest } from '../../apimachinery/meta/errors.js';
import { quote } from '../../apimachinery/meta/meta.js';
import type { Revision } from '../../storage/interfaces.js';

/** Returns the error of strconv.ParseUint for a text, or undefined if it is a number. */
function parseFailure(text: string): string | undefined {
  if (!/^[0-9]+$/.test(text)) return `strconv.ParseUint: parsing ${quote(text)}: invalid syntax`;
  if (BigInt(text) > 0xffffffffffffffffn) return `strconv.ParseUint: parsing ${quote(text)}: value out of range`;
  return undefined;
}

/** Parses a resourceVersion parameter; '' and '0' give 0. Anything but digits is a 500 without a reason, as in kube-apiserver. */
export function parseResourceVersion(text: string): Revision {
  if (text === '' || text === '0') return 0;
  const failure = parseFailure(text);
  if (failure !== undefined) throw new ApiError(500, '', `resourceVersion: Invalid value: ${quote(text)}: ${failure}`);
  return Number(text);
}

/** Parses the resourceVersion of a list, where an invalid one is a 400. */
export function parseListResourceVersion(text: string): Revision {
  if (text === '' || text === '0') return 0;
  const failure = parseFailure(text);
  if (failure !== undefined) {
    throw newBadRequest(`invalid resource version: resourceVersion: Invalid value: ${quote(text)}: ${failure}`);
  }
  return Number(text);
}

/** Reports whether the resourceVersion inside an object names a revision. Text that is not a number does not, as in kube-apiserver. */
export function isResourceVersionSet(text: string | undefined): boolean {
  return text !== undefined && text !== '' && parseFailure(text) === undefined && BigInt(text) !== 0n;
}

/** Parses the resourceVersion inside an object. */
export function parseObjectResourceVersion(text: string | undefined): Revision {
  if (text === undefined || text === '' || text === '0') return 0;
  const failure = parseFailure(text);
  if (failure !== undefined) throw new ApiError(500, '', failure);
  return Number(text);
}
