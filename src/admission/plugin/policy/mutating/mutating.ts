import { ApiError, newInternalError } from '../../../../apimachinery/meta/errors.js';
import { deepEqual, type JsonObject } from '../../../../apimachinery/json/json.js';
import { takeFloats } from '../../../../apimachinery/json/float.js';
import {
  formatGroupVersion,
  formatGroupVersionKind,
  type GroupVersionKind,
  type KubeObject,
  quote,
} from '../../../../apimachinery/meta/meta.js';
import { messageOf } from '../../../../util/error-message.js';
import { replaceContents } from '../../../replace-contents.js';
import { Activation, BudgetExceeded, settled, type ActivationInput } from '../../../cel/activation.js';
import { RUNTIME_BUDGET } from '../../../../expressions/limits.js';
import { RequestView, type VersionedInput } from '../../../cel/request-view.js';
import type { AdmissionAttributes, AdmissionPlugin, VersionedResource } from '../../../interfaces.js';
import type { Reinvocation } from '../../../reinvocation.js';
import { applyConfiguration } from './apply-configuration.js';
import { policyFiles, type PolicyHook, PolicyHooks } from '../hooks.js';
import { applyPatch } from './json-patch.js';
import { ReinvokeContext } from '../../reinvoke-context.js';
import { whenReady } from '../../when-ready.js';
import { isReview } from '../../../matching/match.js';
import { errorTypeOf, type MutatingPolicyMetrics } from '../metrics.js';
import { MutationError } from './mutation-error.js';
import { compileMutatingPolicy, type CompiledMutation, type MutatingPolicy } from './mutating-policy.js';
import { ParamKinds } from '../param-kinds.js';
import { PolicyErrors } from '../policy-errors.js';
import { type Invocation, selectInvocations } from '../select-invocations.js';
import { namespaceObject, type PolicyDependencies } from '../validating/validating.js';

export interface MutatingPolicyDependencies extends PolicyDependencies {
  readonly metrics: MutatingPolicyMetrics;
}

const NAME = 'MutatingAdmissionPolicy';
/** The API group of the kind Scale. */
const SCALE_GROUP = 'autoscaling';

export function mutatingAdmissionPolicy(dependencies: MutatingPolicyDependencies): AdmissionPlugin {
  const { sources, files, clock, conditionMetrics } = dependencies;
  const hooks = new PolicyHooks(
    { policies: sources.mutatingPolicies, bindings: sources.mutatingPolicyBindings },
    policyFiles(files?.mutatingPolicies, files?.mutatingPolicyBindings),
    (policy) => compileMutatingPolicy(policy, conditionMetrics),
  );
  ParamKinds.of(sources).follow(hooks);
  const dispatch = async (attributes: AdmissionAttributes, reinvocation: Reinvocation | undefined): Promise<void> => {
    if (!hooks.isReadyFor(attributes.resource)) await whenReady(hooks, attributes, clock);
    const found = hooks.for(attributes.resource);
    if (found.length > 0) await new MutatingRequest(attributes, dependencies, reinvocation).run(found);
  };
  return {
    name: NAME,
    // A deletion has nothing to mutate.
    handles: (operation) => operation !== 'DELETE',
    readsObjects: (resource) => !hooks.synced() || hooks.for(resource).length > 0,
    admit(attributes, reinvocation) {
      if (hooks.isReadyFor(attributes.resource) && hooks.for(attributes.resource).length === 0) return;
      return isReview(attributes) ? undefined : dispatch(attributes, reinvocation);
    },
  };
}

/** The object under one of its kinds, with the mutations so far. */
interface Versioned {
  readonly resource: VersionedResource;
  readonly input: VersionedInput;
  object: KubeObject | undefined;
  changed: boolean;
  /** The reason why the object is not valid for its kind. A later mutation may fix it. */
  fault: ApiError | undefined;
}

/** Mutates one request in one pass. */
class MutatingRequest {
  private readonly view: RequestView;
  private readonly errors: PolicyErrors;
  private readonly state: ReinvokeContext;
  private readonly versions = new Map<string, Versioned>();

  constructor(
    private readonly attributes: AdmissionAttributes,
    private readonly dependencies: MutatingPolicyDependencies,
    private readonly reinvocation: Reinvocation | undefined,
  ) {
    this.view = new RequestView(attributes, dependencies.authorizer);
    this.errors = new PolicyErrors(attributes);
    this.state = reinvocation?.state(NAME, () => new ReinvokeContext()) ?? new ReinvokeContext();
  }

  async run(hooks: readonly PolicyHook<MutatingPolicy>[]): Promise<void> {
    const { attributes, dependencies, errors, view } = this;
    const { sources } = dependencies;
    const invocations = await selectInvocations(hooks, { attributes, sources, errors, view });
    if (invocations.length > 0) await this.invokeAll(invocations);
    errors.throwFirst();
  }

  private async invokeAll(invocations: readonly Invocation<MutatingPolicy>[]): Promise<void> {
    const { attributes, reinvocation, state } = this;
    if (reinvocation?.isReinvoked === true && state.isOutputChanged(attributes.object))
      state.requireReinvokingPreviouslyInvoked();
    try {
      const namespace = await namespaceObject(attributes, this.dependencies.sources);
      let last: Versioned | undefined;
      for (const invocation of invocations) {
        const versioned = await this.versioned(invocation.resource);
        if (await this.invoke(invocation, versioned, namespace)) last = versioned;
      }
      if (last !== undefined) await this.writeBack(last);
    } finally {
      state.setLastOutput(attributes.object);
    }
  }

  private async versioned(resource: VersionedResource): Promise<Versioned> {
    const key = formatGroupVersionKind(resource.kind);
    const known = this.versions.get(key);
    if (known !== undefined) return known;
    const input = await this.view.input(resource);
    const versioned = {
      resource,
      input,
      object: input.object as KubeObject | undefined,
      changed: false,
      fault: undefined,
    };
    this.versions.set(key, versioned);
    return versioned;
  }

  /** Runs the mutations of a policy; returns true if any ran. */
  private async invoke(
    { policy, binding, param }: Invocation<MutatingPolicy>,
    versioned: Versioned,
    namespace: KubeObject | undefined,
  ): Promise<boolean> {
    const { attributes, reinvocation, state } = this;
    const input = (): ActivationInput => ({
      ...versioned.input,
      object: versioned.object,
      params: param,
      namespace,
      composition: policy.composition,
    });
    const conditions = await policy.conditions.match(input(), attributes.operation);
    if (!conditions.matches) {
      if (conditions.error !== undefined) this.errors.add(policy, binding.name, conditions.error, 'Invalid');
      return false;
    }
    const key = JSON.stringify([policy.name, binding.name, param?.metadata.namespace, param?.metadata.name]);
    if (reinvocation?.isReinvoked === true && !state.shouldReinvoke(key)) return false;
    const before = versioned.object;
    for (const mutation of policy.mutations) {
      if (versioned.object === undefined) continue;
      await this.mutate(policy, binding.name, mutation, input(), versioned);
    }
    if (before !== versioned.object && !deepEqual(before ?? null, versioned.object ?? null)) this.requestReinvocation();
    if (policy.reinvoked) state.addReinvocable(key);
    return policy.mutations.length > 0;
  }

  private requestReinvocation(): void {
    this.state.requireReinvokingPreviouslyInvoked();
    this.reinvocation?.request();
  }

  /** Runs one mutation. If it fails, the object is unchanged and the next mutations still run. */
  private async mutate(
    policy: MutatingPolicy,
    binding: string,
    mutation: CompiledMutation,
    input: ActivationInput,
    versioned: Versioned,
  ): Promise<void> {
    const { clock, metrics } = this.dependencies;
    const started = clock.monotonic();
    const seconds = (): number => (clock.monotonic() - started) / 1000;
    try {
      const changed = await settled(() => this.evaluate(mutation, input, versioned));
      if (changed !== undefined) this.complete(changed, versioned, mutation.type === 'JSONPatch');
      versioned.changed = true;
      metrics.checked(policy.name, binding, 'no_error', seconds());
    } catch (error) {
      metrics.checked(policy.name, binding, errorTypeOf(messageOf(error)), seconds());
      if (!(error instanceof MutationError) && !(error instanceof BudgetExceeded)) throw error;
      this.errors.add(policy, binding, error.message, 'Invalid');
    }
  }

  private evaluate(
    { type, expression }: CompiledMutation,
    input: ActivationInput,
    { object, resource }: Versioned,
  ): JsonObject | undefined {
    const mergeType = this.attributes.versions?.mergeType(resource.kind);
    const isScale = resource.kind.group === SCALE_GROUP && this.attributes.subresource === 'scale';
    if (mergeType === undefined && !isScale) {
      const kind = formatGroupVersionKind(resource.kind);
      const why = `Resource kind ${kind} not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.`;
      throw new ApiError(503, 'ServiceUnavailable', why);
    }
    if (object === undefined) return undefined;
    if (expression.program === undefined) throw new MutationError(expression.error ?? '');
    const { value, error } = new Activation(input, RUNTIME_BUDGET).evaluate(expression);
    if (error !== undefined) throw new MutationError(error);
    const changed =
      type === 'ApplyConfiguration'
        ? applyConfiguration(object, value, mergeType, resource.kind)
        : applyPatch(object, value);
    this.checkConvertible(resource.kind, isScale);
    return changed;
  }

  /**
   * kube-apiserver converts the result of a mutation to the request's version, and has no conversions for these kinds.
   * Throws MutationError.
   */
  private checkConvertible(made: GroupVersionKind, isScale: boolean): void {
    const { kind } = this.attributes;
    if (isScale) {
      throw new MutationError(`request to convert CR to an invalid group/version: ${formatGroupVersion(made)}`);
    }
    if (made.group === kind.group) return;
    const target = quote(formatGroupVersion(kind));
    const scheme = quote('pkg/runtime/scheme.go:111');
    throw new MutationError(
      `${made.version}.${made.kind} is not suitable for converting to ${target} in scheme ${scheme}`,
    );
  }

  /** Adopts the result of a mutation, with defaults set and, for a built-in type, decoded as that type. */
  private complete(changed: JsonObject, versioned: Versioned, strict: boolean): void {
    const { object, resource } = versioned;
    try {
      const { versions } = this.attributes;
      const completed =
        versions === undefined ? (changed as KubeObject) : versions.complete(changed, resource.kind, { strict });
      if (object !== undefined) takeFloats(completed, object);
      versioned.object = completed;
      versioned.fault = undefined;
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== '') throw error;
      versioned.object = changed as KubeObject;
      versioned.fault = error;
    }
  }

  /** Drops invalid metadata; an object of another type is an error. Throws ApiError. */
  private completeLeniently(object: KubeObject, kind: GroupVersionKind): KubeObject {
    const { versions } = this.attributes;
    try {
      return versions?.complete(object, kind, { dropsInvalidMetadata: true }) ?? object;
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== '') throw error;
      throw newInternalError(`failed to convert object: ${error.message}`);
    }
  }

  /** Replaces the contents of the request's object with the result of the policies. */
  private async writeBack({ resource, object, changed, fault }: Versioned): Promise<void> {
    const { attributes } = this;
    if (!changed || object === undefined || attributes.object === undefined) return;
    this.requestReinvocation();
    const { kind, versions } = attributes;
    const isOwn = formatGroupVersionKind(kind) === formatGroupVersionKind(resource.kind);
    const validObject = fault === undefined ? object : this.completeLeniently(object, resource.kind);
    const made = isOwn || versions === undefined ? validObject : await versions.convert(validObject, kind);
    replaceContents(attributes, made);
  }
}
