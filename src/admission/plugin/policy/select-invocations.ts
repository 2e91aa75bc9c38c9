import { ApiError } from '../../../apimachinery/meta/errors.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { RequestView } from '../../cel/request-view.js';
import type { AdmissionAttributes, VersionedResource } from '../../interfaces.js';
import type { AdmissionSources, ParamStore } from '../../sources.js';
import type { Binding, CompiledPolicy, PolicyHook } from './hooks.js';
import { matchPolicy } from './matching.js';
import { collectParams, ConfigurationError, openParams } from './params.js';
import type { PolicyErrors } from './policy-errors.js';

/** A policy to evaluate, for one binding and one param. */
export interface Invocation<C extends CompiledPolicy> {
  readonly policy: C;
  readonly binding: Binding;
  readonly param: KubeObject | undefined;
  /** The resource and kind under which the policy matches. */
  readonly resource: VersionedResource;
}

export interface SelectionContext {
  readonly attributes: AdmissionAttributes;
  readonly sources: AdmissionSources;
  readonly errors: PolicyErrors;
  readonly view: RequestView;
}

/** Returns the invocations for a request. All of them are selected before any runs. */
export async function selectInvocations<C extends CompiledPolicy>(
  hooks: readonly PolicyHook<C>[],
  selecting: SelectionContext,
): Promise<readonly Invocation<C>[]> {
  const { attributes, sources, errors } = selecting;
  const invocations: Invocation<C>[] = [];
  for (const { policy, bindings } of hooks) {
    try {
      const resource = await matchPolicy(policy.criteria, attributes, sources.namespaces);
      if (resource === undefined) continue;
      const store = policy.paramKind && (await openParams(sources.params, policy.paramKind));
      for (const binding of bindings) {
        invocations.push(...(await selectBinding(policy, binding, resource, store, selecting)));
      }
    } catch (error) {
      errors.misconfigured(policy, undefined, error);
    }
  }
  return invocations;
}

async function selectBinding<C extends CompiledPolicy>(
  policy: C,
  binding: Binding,
  resource: VersionedResource,
  store: ParamStore | undefined,
  { attributes, sources, errors, view }: SelectionContext,
): Promise<readonly Invocation<C>[]> {
  try {
    if (binding.criteria !== undefined) {
      if ((await matchPolicy(binding.criteria, attributes, sources.namespaces)) === undefined) return [];
    }
    if (!(await converts(view, resource, policy, errors))) return [];
    const params = await collectParams(policy.paramKind, store, binding, attributes.namespace);
    return params.map((param) => ({ policy, binding, param, resource }));
  } catch (error) {
    errors.misconfigured(policy, binding.name, error);
    return [];
  }
}

/** A failed conversion is a configuration error of the policy. */
async function converts(
  view: RequestView,
  resource: VersionedResource,
  policy: CompiledPolicy,
  errors: PolicyErrors,
): Promise<boolean> {
  try {
    await view.input(resource);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    errors.misconfigured(policy, undefined, new ConfigurationError(error.message));
    return false;
  }
}
