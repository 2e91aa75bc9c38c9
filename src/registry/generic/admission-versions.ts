import type { AttributeVersions } from '../../admission/interfaces.js';
import { newInternalError } from '../../apimachinery/meta/errors.js';
import { type AdmissionView, DecodeError, type ServedVersion } from '../rest/served.js';

/** The versions of a type for the admission of a request for it, or for a subresource of it. */
export function admissionVersions(
  { admission }: Pick<ServedVersion, 'admission'>,
  subresource: string,
): AttributeVersions {
  return new VersionsOf(admission, subresource);
}

class VersionsOf implements AttributeVersions {
  readonly convert: AttributeVersions['convert'];
  readonly complete: AttributeVersions['complete'];
  readonly exchanged: AttributeVersions['exchanged'];
  readonly mergeType: AttributeVersions['mergeType'];

  constructor(
    private readonly view: AdmissionView,
    private readonly subresource: string,
  ) {
    this.convert = view.convert;
    this.complete = view.complete;
    this.exchanged = view.exchanged;
    this.mergeType = view.mergeType;
  }

  get equivalents(): AttributeVersions['equivalents'] {
    return this.view.equivalents(this.subresource);
  }
}

/** The versions of a kind that is only created: there is one. */
export const soleVersion = (decode: ServedVersion['decode']): AttributeVersions => ({
  equivalents: [],
  convert: (object) => object,
  complete: (changed) => decodedOrInternal(() => decode({ value: changed, duplicates: [] }, false).object),
  exchanged: () => undefined,
  mergeType: () => undefined,
});

/** A mutation that does not fit a kind is not the client's fault. */
export function decodedOrInternal<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) throw newInternalError(error.message);
    throw error;
  }
}
