import type { AttributeVersions } from '../../admission/interfaces.js';
import { newInternalError } from '../../apimachinery/meta/errors.js';
import { DecodeError } from '../../apimachinery/scheme/decode-error.js';
import type { AdmissionView, ServedVersion } from '../rest/served.js';

/** Returns the versions of a type that admission may use for a request to it or to one of its subresources. */
export function admissionVersions(
  { admission }: Pick<ServedVersion, 'admission'>,
  subresource: string,
): AttributeVersions {
  return new VersionsOf(admission, subresource);
}

class VersionsOf implements AttributeVersions {
  readonly convert: AttributeVersions['convert'];
  readonly complete: AttributeVersions['complete'];
  readonly onContentsReplaced: AttributeVersions['onContentsReplaced'];
  readonly mergeType: AttributeVersions['mergeType'];

  constructor(
    private readonly view: AdmissionView,
    private readonly subresource: string,
  ) {
    this.convert = view.convert;
    this.complete = view.complete;
    this.onContentsReplaced = view.exchanged;
    this.mergeType = view.mergeType;
  }

  get equivalents(): AttributeVersions['equivalents'] {
    return this.view.equivalents(this.subresource);
  }
}

/** The versions of a create-only kind, which has exactly one. */
export const soleVersion = (decode: ServedVersion['decode']): AttributeVersions => ({
  equivalents: [],
  convert: (object) => object,
  complete: (changed) => decodeOrInternalError(() => decode({ value: changed, duplicates: [] }, false).object),
  onContentsReplaced: () => undefined,
  mergeType: () => undefined,
});

/** Turns a decode error into an internal error: a mutation that does not fit the kind is not the client's fault. */
export function decodeOrInternalError<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) throw newInternalError(error.message);
    throw error;
  }
}
