import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import type { AdmissionAttributes, VersionedResource } from '../interfaces.js';
import type { ActivationInput } from './activation.js';
import { authorizerValues, type AuthorizerValues } from './authorizer.js';
import { admissionRequest } from './request.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** The input of the expressions that match a request under one kind and resource. */
export type VersionedInput = Pick<ActivationInput, 'object' | 'oldObject' | 'request' | 'authorizer'>;

/** One request as seen by the expressions of all policies, which share conversions and authorizer decisions. */
export class RequestView {
  private readonly inputs = new Map<string, MaybePromise<VersionedInput>>();
  private values: AuthorizerValues | undefined;

  constructor(
    private readonly attributes: AdmissionAttributes,
    private readonly authorizer: Authorizer,
  ) {}

  /** Throws ApiError if the objects cannot be converted. */
  input(matched: VersionedResource): MaybePromise<VersionedInput> {
    const { resource, kind } = matched;
    const key = `${resource.group}/${resource.version}/${resource.resource}/${kind.kind}`;
    let input = this.inputs.get(key);
    if (input === undefined) this.inputs.set(key, (input = this.make(matched)));
    return input;
  }

  private make(matched: VersionedResource): MaybePromise<VersionedInput> {
    const { attributes } = this;
    const object = this.converted(attributes.object, matched);
    const oldObject = this.converted(attributes.oldObject, matched);
    if (!(object instanceof Promise) && !(oldObject instanceof Promise))
      return this.assemble(object, oldObject, matched);
    return Promise.all([object, oldObject]).then(([one, other]) => this.assemble(one, other, matched));
  }

  private converted(
    object: KubeObject | undefined,
    { kind }: VersionedResource,
  ): KubeObject | undefined | Promise<KubeObject> {
    const { kind: own, versions } = this.attributes;
    if (object === undefined || versions === undefined) return object;
    if (own.group === kind.group && own.version === kind.version && own.kind === kind.kind) return object;
    return versions.convert(object, kind);
  }

  private assemble(
    object: KubeObject | undefined,
    oldObject: KubeObject | undefined,
    matched: VersionedResource,
  ): VersionedInput {
    let request: JsonObject | undefined;
    return {
      object,
      oldObject,
      request: () => (request ??= admissionRequest(this.attributes, matched)),
      authorizer: () => (this.values ??= authorizerValues(this.authorizer, this.attributes, this.attributes.signal())),
    };
  }
}
