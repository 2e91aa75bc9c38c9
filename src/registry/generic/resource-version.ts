import { ApiError, newBadRequest } from '../../apimachinery/meta/errors.js';
import { quote } from '../../apimachinery/meta/meta.js';
import type { Revision } from '../../storage/interfaces.js';

/** strconv.ParseUint's refusal of a text, or undefined where it is a number. */
function parseFailure(text: string): string | undefined {
  if (!/^[0-9]+$/.test(text)) return `strconv.ParseUint: parsing ${quote(text)}: invalid syntax`;
  if (BigInt(text) > 0xffffffffffffffffn) return `strconv.ParseUint: parsing ${quote(text)}: value out of range`;
  return undefined;
}

/** The revision that a resourceVersion parameter names; '' and '0' give 0. Anything else but digits is a bare 500, as in kube-apiserver. */
export function parseResourceVersion(text: string): Revision {
  if (text === '' || text === '0') return 0;
  const failure = parseFailure(text);
  if (failure !== undefined) throw new ApiError(500, '', `resourceVersion: Invalid value: ${quote(text)}: ${failure}`);
  return Number(text);
}

/** The same for lists, where it is a 400. */
export function listResourceVersion(text: string): Revision {
  if (text === '' || text === '0') return 0;
  const failure = parseFailure(text);
  if (failure !== undefined) {
    throw newBadRequest(`invalid resource version: resourceVersion: Invalid value: ${quote(text)}: ${failure}`);
  }
  return Number(text);
}

/** Whether the resourceVersion inside an object names a revision; text that is not a number names none, as in kube-apiserver. */
export function namesRevision(text: string | undefined): boolean {
  return text !== undefined && text !== '' && parseFailure(text) === undefined && BigInt(text) !== 0n;
}

/** The same for the resourceVersion inside an object. */
export function objectResourceVersion(text: string | undefined): Revision {
  if (text === undefined || text === '' || text === '0') return 0;
  const failure = parseFailure(text);
  if (failure !== undefined) throw new ApiError(500, '', failure);
  return Number(text);
}
