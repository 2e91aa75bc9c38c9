import type { AttributeVersions } from '../../admission/interfaces.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { newInternalError, UnknownFieldsError } from '../../apimachinery/meta/errors.js';
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
  complete: (changed, _kind, how) => decodeMutated(decode, changed, how),
  onContentsReplaced: () => undefined,
  mergeType: () => undefined,
});

/** Decodes the result of a mutation. Throws internal errors: a mutation that does not fit the kind is not the client's fault. */
export function decodeMutated(
  decode: ServedVersion['decode'],
  changed: JsonObject,
  { strict = false }: { readonly strict?: boolean } = {},
): KubeObject {
  try {
    const { object, strictErrors } = decode({ value: changed, duplicates: [] }, strict);
    if (strictErrors.length === 0) return object;
    // The fields of what a JSON patch made are sorted.
    throw new UnknownFieldsError([...strictErrors].sort());
  } catch (error) {
    if (error instanceof DecodeError) throw newInternalError(error.message);
    throw error;
  }
}
