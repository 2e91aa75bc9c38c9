import type { GroupVersionKind, KubeObject } from '../../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { ReviewedObjects } from './review.js';

export const sameKind = (a: GroupVersionKind, b: GroupVersionKind): boolean =>
  a.version === b.version && a.group === b.group && a.kind === b.kind;

/** Converts an object of the request from the version `from`. */
export async function convert(
  attributes: AdmissionAttributes,
  object: KubeObject | undefined,
  from: GroupVersionKind,
  to: GroupVersionKind,
): Promise<KubeObject | undefined> {
  if (object === undefined || sameKind(from, to)) return object;
  const converted = await attributes.versions?.convert(object, to);
  if (converted === undefined) throw new Error(`unable to convert ${from.kind} to version ${to.version}`);
  return converted;
}

/** Returns the objects of a request in a version. */
export async function objectsAs(attributes: AdmissionAttributes, kind: GroupVersionKind): Promise<ReviewedObjects> {
  const { object, oldObject } = attributes;
  return new ReviewedObjects(
    await convert(attributes, object, attributes.kind, kind),
    await convert(attributes, oldObject, attributes.kind, kind),
  );
}
