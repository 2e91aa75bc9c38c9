import { objectAt, stringAt, type JsonObject, textAt } from '../../../apimachinery/json/json.js';
import type { GroupResource, GroupVersionKind, KubeObject } from '../../../apimachinery/meta/meta.js';
import { isPolicyResource } from '../../matching/match.js';
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

/** Policies and their bindings. */
export interface PolicySources {
  readonly policies: ConfigurationSource;
  readonly bindings: ConfigurationSource;
}

/** Returns the policies and bindings from files, if there are any. */
export const policyFiles = (
  policies: ConfigurationSource | undefined,
  bindings: ConfigurationSource | undefined,
): PolicySources | undefined => (policies === undefined || bindings === undefined ? undefined : { policies, bindings });

/**
 * The policies that have bindings, indexed by the resource of a request. Those from files come first. A binding belongs to a policy of
 * the same origin.
 */
export class PolicyHooks<C extends CompiledPolicy> {
  private readonly compiled = new WeakMap<KubeObject, C>();
  private readonly read = new WeakMap<KubeObject, Binding>();
  private hooks: readonly PolicyHook<C>[] = [];
  /** Hooks by `group/resource`; rebuilt after every change. */
  private byResource = new Map<string, readonly PolicyHook<C>[]>();
  private fixed: readonly PolicyHook<C>[] = [];
  private generation = -1;

  constructor(
    private readonly stored: PolicySources,
    private readonly files: PolicySources | undefined,
    /** Called once per revision of a policy that has a binding. */
    private readonly compile: (policy: KubeObject) => C,
  ) {}

  synced(): boolean {
    return this.stored.policies.synced() && this.stored.bindings.synced();
  }

  async whenSynced(): Promise<void> {
    await Promise.all([this.stored.policies.whenSynced(), this.stored.bindings.whenSynced()]);
  }

  /** Reports whether the policies that may match requests for a resource are known. */
  isReadyFor(resource: GroupResource): boolean {
    return this.synced() || isPolicyResource(resource);
  }

  /** Returns the policies that may match a request for the resource. */
  for({ group, resource }: GroupResource): readonly PolicyHook<C>[] {
    this.refresh();
    if (this.hooks.length === 0) return this.hooks;
    const key = `${group}/${resource}`;
    let found = this.byResource.get(key);
    if (found === undefined) {
      const eligible = isPolicyResource({ group, resource }) ? this.fixed : this.hooks;
      found = eligible.filter(
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
    this.stored.policies.subscribe(listener);
    this.stored.bindings.subscribe(listener);
  }

  private refresh(): void {
    const { stored, files } = this;
    const sources = [stored.policies, stored.bindings, files?.policies, files?.bindings];
    const generation = sources.reduce((sum, source) => sum + (source?.generation ?? 0), 0);
    if (generation === this.generation) return;
    this.generation = generation;
    this.fixed = files === undefined ? [] : this.pair(files);
    this.hooks = [...this.fixed, ...this.pair(stored)];
    this.byResource = new Map();
  }

  private pair({ policies, bindings }: PolicySources): PolicyHook<C>[] {
    const byPolicy = new Map<string, Binding[]>();
    for (const object of bindings.objects()) {
      const binding = this.binding(object);
      append(byPolicy, binding.policyName, binding);
    }
    return policies.objects().flatMap((policy) => {
      const own = byPolicy.get(policy.metadata.name ?? '');
      return own === undefined ? [] : [{ policy: this.policy(policy), bindings: own }];
    });
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
