import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { VersionConverter } from '../../../managedfields/interfaces.js';
import { withApiVersion } from '../../generic/store/builtin-versions.js';

/** Posts ConversionReviews to one webhook. */
export interface ReviewSender {
  /** Resolves with the body of the response. Rejects with the error text of Kubernetes' client if there was none or it was an error. */
  send(review: string): Promise<string>;
}

/** Converts whole objects between versions of a type. Arguments are not modified, but results may share parts with them. */
export interface Conversion extends VersionConverter {
  /** True if conversions have to wait: `convert` throws ConversionPending until its `ready` has fetched the response. */
  readonly remote: boolean;
  /** Sends the ConversionReviews, if conversions have to wait. */
  readonly sender?: ReviewSender;
  /** Converts all objects, in their order; none has the wanted version yet. If one conversion fails, all fail. */
  convertAll(objects: readonly KubeObject[], groupVersion: string): Promise<KubeObject[]>;
}

/** Strategy None: versions differ only in their apiVersion. */
export const noConversion: Conversion = {
  remote: false,
  convert: withApiVersion,
  convertAll: (objects, groupVersion) => Promise.resolve(objects.map((object) => withApiVersion(object, groupVersion))),
};
