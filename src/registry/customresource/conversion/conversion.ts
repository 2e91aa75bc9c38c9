import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { VersionConverter } from '../../../managedfields/interfaces.js';

/** Posts ConversionReviews to one webhook. */
export interface ReviewSender {
  /** Resolves with the body of the answer; rejects, in the words of Kubernetes' client, where there was none or it was an error. */
  send(review: string): Promise<string>;
}

/** Converts whole objects between versions of a type. What is given is not changed, but may be shared. */
export interface Conversion extends VersionConverter {
  /** Whether conversions must be waited for: then `convert` throws ConversionPending until its `ready` has brought the answer. */
  readonly remote: boolean;
  /** The converter, where conversions must be waited for. */
  readonly sender?: ReviewSender;
  /** All at once, in their order; all have another version than the one wanted. What goes wrong with one fails all. */
  convertAll(objects: readonly KubeObject[], groupVersion: string): Promise<KubeObject[]>;
}

const relabel = (object: KubeObject, groupVersion: string): KubeObject =>
  object.apiVersion === groupVersion ? object : { ...object, apiVersion: groupVersion };

/** Strategy None: versions differ in their apiVersion alone. */
export const noConversion: Conversion = {
  remote: false,
  convert: relabel,
  convertAll: (objects, groupVersion) => Promise.resolve(objects.map((object) => relabel(object, groupVersion))),
};
