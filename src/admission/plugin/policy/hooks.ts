import { objectAt, stringAt, type JsonObject, textAt } from '../../../apimachinery/json/json.js';
import type { GroupResource, GroupVersionKind, KubeObject } from '../../../apimachinery/meta/meta.js';
import { mayMatchResource, policyCriteria, type MatchCriteria } from '../../matching/criteria.js';
import type { ConfigurationSource } from '../../sources.js';
import { append } from '../../../util/append.js';

/** A binding, parsed once per revision. */
export interface Binding {
  readonly name: string;
  readonly policyName: string;
  /** Undefined: the binding adds no criteria of its own. */
  readonly criteria: MatchCriteria | undefined;
  readonly paramRef: JsonObject | undefined;
  readonly spec: JsonObject;
}

/** The parts of a compiled policy that all kinds of policies have. */
export interface CompiledPolicy {
  readonly name: string;
  /** Undefined: the required field is missing, which is an error for every request. */
  readonly criteria: MatchCriteria | undefined;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly paramKind: ParamKind | undefined;
}

export interface ParamKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** A policy with its bindings. Policies and bindings are sorted by name. */
export interface PolicyHook<C extends CompiledPolicy> {
  readonly policy: C;
  readonly bindings: readonly Binding[];
}

/** Parses the fields that all kinds of policies have. */
export function commonParts(policy: KubeObject): CompiledPolicy {
  const spec = objectAt(policy, 'spec') ?? {};
  const constraints = objectAt(spec, 'matchConstraints');
  const paramKind = objectAt(spec, 'paramKind');
  return {
    name: policy.metadata.name ?? '',
    criteria: constraints === undefined ? undefined : policyCriteria(constraints),
    failurePolicy: stringAt(spec, 'failurePolicy') === 'Ignore' ? 'Ignore' : 'Fail',
    paramKind: paramKind && {
      apiVersion: textAt(paramKind, 'apiVersion'),
      kind: textAt(paramKind, 'kind'),
    },
  };
}

export function kindOfParams({ apiVersion, kind }: ParamKind): GroupVersionKind {
  const slash = apiVersion.indexOf('/');
  return { group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind };
}

/** The policies that have bindings, indexed by the resource of a request. */
export class PolicyHooks<C extends CompiledPolicy> {
  private readonly compiled = new WeakMap<KubeObject, C>();
  private readonly read = new WeakMap<KubeObject, Binding>();
  private hooks: readonly PolicyHook<C>[] = [];
  /** Hooks by `group/resource`; rebuilt after every change. */
  private byResource = new Map<string, readonly PolicyHook<C>[]>();
  private policyGeneration = -1;
  private bindingGeneration = -1;

  constructor(
    private readonly policies: ConfigurationSource,
    private readonly bindings: ConfigurationSource,
    /** Called once per revision of a policy that has a binding. */
    private readonly compile: (policy: KubeObject) => C,
  ) {}

  synced(): boolean {
    return this.policies.synced() && this.bindings.synced();
  }

  async whenSynced(): Promise<void> {
    await Promise.all([this.policies.whenSynced(), this.bindings.whenSynced()]);
  }

  /** Returns the policies that may match a request for the resource. */
  for({ group, resource }: GroupResource): readonly PolicyHook<C>[] {
    this.refresh();
    if (this.hooks.length === 0) return this.hooks;
    const key = `${group}/${resource}`;
    let found = this.byResource.get(key);
    if (found === undefined) {
      found = this.hooks.filter(
        ({ policy: { criteria } }) => criteria === undefined || mayMatchResource(criteria, { group, resource }),
      );
      this.byResource.set(key, found);
    }
    return found;
  }

  /** Returns the paramKinds of the policies that have bindings. */
  paramKinds(): readonly GroupVersionKind[] {
    this.refresh();
    return this.hooks.flatMap(({ policy: { paramKind } }) =>
      paramKind === undefined ? [] : [kindOfParams(paramKind)],
    );
  }

  subscribe(listener: () => void): void {
    this.policies.subscribe(listener);
    this.bindings.subscribe(listener);
  }

  private refresh(): void {
    const { policies, bindings } = this;
    if (policies.generation === this.policyGeneration && bindings.generation === this.bindingGeneration) return;
    this.policyGeneration = policies.generation;
    this.bindingGeneration = bindings.generation;
    const byPolicy = new Map<string, Binding[]>();
    for (const object of bindings.objects()) {
      const binding = this.binding(object);
      append(byPolicy, binding.policyName, binding);
    }
    this.hooks = policies.objects().flatMap((policy) => {
      const own = byPolicy.get(policy.metadata.name ?? '');
      return own === undefined ? [] : [{ policy: this.policy(policy), bindings: own }];
    });
    this.byResource = new Map();
  }

  private policy(policy: KubeObject): C {
    let compiled = this.compiled.get(policy);
    if (compiled === undefined) this.compiled.set(policy, (compiled = this.compile(policy)));
    return compiled;
  }

  private binding(object: KubeObject): Binding {
    let binding = this.read.get(object);
    if (binding === undefined) this.read.set(object, (binding = readBinding(object)));
    return binding;
  }
}

function readBinding(object: KubeObject): Binding {
  const spec = objectAt(object, 'spec') ?? {};
  const resources = objectAt(spec, 'matchResources');
  return {
    name: object.metadata.name ?? '',
    policyName: textAt(spec, 'policyName'),
    criteria: resources === undefined ? undefined : policyCriteria(resources),
    paramRef: objectAt(spec, 'paramRef'),
    spec,
  };
}
