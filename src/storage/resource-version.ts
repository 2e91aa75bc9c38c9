import { ApiError, newBadRequest } from '../apimachinery/meta/errors.js';
import { quote } from '../apimachinery/meta/meta.js';
import type { Revision } from './interfaces.js';

/** Returns the error of strconv.ParseUint for a text, or undefined if it is a number. */
function parseFailure(text: string): string | undefined {
  if (!/^[0-9]+$/.test(text)) return `strconv.ParseUint: parsing ${quote(text)}: invalid syntax`;
  if (BigInt(text) > 0xffffffffffffffffn) return `strconv.ParseUint: parsing ${quote(text)}: value out of range`;
  return undefined;
}

/** Parses a revision; '' gives 0. Throws what `refuse` makes of the failure. */
function parseOr(text: string, refuse: (failure: string) => ApiError): Revision {
  if (text === '') return 0;
  const failure = parseFailure(text);
  if (failure !== undefined) throw refuse(failure);
  return Number(text);
}

const invalidParameter = (text: string, failure: string): string =>
  `resourceVersion: Invalid value: ${quote(text)}: ${failure}`;

/** Parses a resourceVersion parameter. Anything but digits is a 500 without a reason, as in kube-apiserver. */
export const parseResourceVersion = (text: string): Revision =>
  parseOr(text, (failure) => new ApiError(500, '', invalidParameter(text, failure)));

/** Parses the resourceVersion of a list, where an invalid one is a 400. */
export const parseListResourceVersion = (text: string): Revision =>
  parseOr(text, (failure) => newBadRequest(`invalid resource version: ${invalidParameter(text, failure)}`));

/** Reports whether the resourceVersion inside an object names a revision. Text that is not a number does not, as in kube-apiserver. */
export function isResourceVersionSet(text: string | undefined): boolean {
  return text !== undefined && text !== '' && parseFailure(text) === undefined && BigInt(text) !== 0n;
}

/** Parses the resourceVersion inside an object. */
export const parseObjectResourceVersion = (text = ''): Revision =>
  parseOr(text, (failure) => new ApiError(500, '', failure));
