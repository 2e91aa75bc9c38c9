import { ApiError, newNotFound } from '../../../../apimachinery/meta/errors.js';
import { stringsOf } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../../authorization/authorizer/interfaces.js';
import type { Clock } from '../../../../util/clock.js';
import { forEachSequentially, type MaybePromise, rescue, then } from '../../../../util/maybe-promise.js';
import { settled } from '../../../cel/activation.js';
import type { MatchConditionsMetrics } from '../../../cel/match-conditions.js';
import { RequestView, type VersionedInput } from '../../../cel/request-view.js';
import type { AdmissionAttributes, AdmissionPlugin, VersionedResource } from '../../../interfaces.js';
import { refusal } from '../../../refusal.js';
import type { AdmissionSources, ParamStore, StaticSources } from '../../../sources.js';
import { AuditAnnotations } from './audit-annotations.js';
import { type Decision, evaluateValidations, failed, type ValidationResult } from './evaluate-validations.js';
import { type Binding, policyFiles, type PolicyHook, PolicyHooks } from '../hooks.js';
import { whenReady } from '../../when-ready.js';
import { isReview } from '../../../matching/match.js';
import { matchPolicy } from '../matching.js';
import { errorTypeOf, type ValidatingPolicyMetrics } from '../metrics.js';
import { collectParams, ConfigurationError, openParams } from '../params.js';
import { ParamKinds } from '../param-kinds.js';
import { compileValidatingPolicy, type ValidatingPolicy } from './validating-policy.js';

export interface PolicyDependencies {
  readonly sources: AdmissionSources;
  readonly files?: StaticSources | undefined;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly conditionMetrics: MatchConditionsMetrics | undefined;
}

export interface ValidatingPolicyDependencies extends PolicyDependencies {
  readonly metrics: ValidatingPolicyMetrics;
}

type Hook = PolicyHook<ValidatingPolicy>;

/** A reason to refuse the request. Without a binding it comes from the policy itself. */
interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

const CODES: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

export function validatingAdmissionPolicy(dependencies: ValidatingPolicyDependencies): AdmissionPlugin {
  const { sources, files, clock, conditionMetrics } = dependencies;
  const hooks = new PolicyHooks(
    { policies: sources.validatingPolicies, bindings: sources.validatingPolicyBindings },
    policyFiles(files?.validatingPolicies, files?.validatingPolicyBindings),
    (policy) => compileValidatingPolicy(policy, conditionMetrics),
  );
  ParamKinds.of(sources).follow(hooks);
  const dispatch = (attributes: AdmissionAttributes): MaybePromise<void> => {
    const found = hooks.for(attributes.resource);
    if (found.length > 0) return new ValidatingRequest(attributes, dependencies).run(found);
  };
  return {
    name: 'ValidatingAdmissionPolicy',
    handles: () => true,
    readsObjects: (resource) => !hooks.synced() || hooks.for(resource).length > 0,
    validate(attributes) {
      if (isReview(attributes)) return;
      return hooks.isReadyFor(attributes.resource)
        ? dispatch(attributes)
        : whenReady(hooks, attributes, clock).then(() => dispatch(attributes));
    },
  };
}

/** Validates one request. */
class ValidatingRequest {
  private readonly denials: Denial[] = [];
  private readonly view: RequestView;
  private readonly audit: AuditAnnotations;

  constructor(
    private readonly attributes: AdmissionAttributes,
    private readonly dependencies: ValidatingPolicyDependencies,
  ) {
    this.view = new RequestView(attributes, dependencies.authorizer);
    this.audit = new AuditAnnotations(attributes);
  }

  /** Evaluates every policy, and refuses the request with the first denial. */
  run(hooks: readonly Hook[]): MaybePromise<void> {
    return then(
      forEachSequentially(hooks, (hook) => this.runPolicy(hook)),
      () => {
        this.audit.publishFailure();
        const [first] = this.denials;
        if (first !== undefined) throw this.refusal(first);
      },
    );
  }

  private runPolicy(hook: Hook): MaybePromise<void> {
    const { policy } = hook;
    return this.guarded(policy, undefined, () =>
      then(matchPolicy(policy.criteria, this.attributes, this.dependencies.sources.namespaces), (resource) =>
        resource === undefined ? undefined : this.runBindings(hook, resource),
      ),
    );
  }

  private runBindings({ policy, bindings }: Hook, resource: VersionedResource): MaybePromise<void> {
    const store = policy.paramKind && openParams(this.dependencies.sources.params, policy.paramKind);
    const run = (opened: ParamStore | undefined): MaybePromise<void> =>
      forEachSequentially(bindings, (binding) =>
        this.guarded(policy, binding, () => this.runBinding(policy, binding, resource, opened)),
      );
    return then(then(store, run), () => this.audit.publish(policy.name));
  }

  /** Runs a part of the evaluation; a configuration error in it denies the request, unless the policy ignores failures. */
  private guarded(
    policy: ValidatingPolicy,
    binding: Binding | undefined,
    run: () => MaybePromise<void>,
  ): MaybePromise<void> {
    return rescue(run, (error) => {
      if (!(error instanceof ConfigurationError)) throw error;
      if (policy.failurePolicy === 'Ignore') return;
      const message = `failed to configure ${binding === undefined ? 'policy' : 'binding'}: ${error.message}`;
      this.denials.push({ policy: policy.name, binding: binding?.name, message, reason: '' });
    });
  }

  private runBinding(
    policy: ValidatingPolicy,
    binding: Binding,
    resource: VersionedResource,
    store: ParamStore | undefined,
  ): MaybePromise<void> {
    const { criteria } = binding;
    const evaluate = (): MaybePromise<void> =>
      then(collectParams(policy.paramKind, store, binding, this.attributes.namespace), (params) =>
        this.runParams(policy, binding, resource, params),
      );
    if (criteria === undefined) return evaluate();
    return then(matchPolicy(criteria, this.attributes, this.dependencies.sources.namespaces), (bound) =>
      bound === undefined ? undefined : evaluate(),
    );
  }

  private runParams(
    policy: ValidatingPolicy,
    binding: Binding,
    resource: VersionedResource,
    params: readonly (KubeObject | undefined)[],
  ): MaybePromise<void> {
    if (params.length === 0) return;
    return then(namespaceObject(this.attributes, this.dependencies.sources), (namespace) =>
      forEachSequentially(params, (param) =>
        then(this.evaluate(policy, resource, param, namespace), (result) => this.recordResult(policy, binding, result)),
      ),
    );
  }

  private evaluate(
    policy: ValidatingPolicy,
    resource: VersionedResource,
    params: KubeObject | undefined,
    namespace: KubeObject | undefined,
  ): MaybePromise<ValidationResult> {
    const decide = ({ object, oldObject, request, authorizer }: VersionedInput): MaybePromise<ValidationResult> => {
      // Spreading the input would cost as much as evaluating a short expression.
      const input = { object, oldObject, request, authorizer, params, namespace, composition: policy.composition };
      return then(policy.conditions.match(input, this.attributes.operation), (conditions) => {
        if (conditions.matches) return settled(() => evaluateValidations(policy, input, this.seconds));
        if (conditions.error === undefined) return { decisions: [], annotations: [] };
        return { decisions: [failed(policy, conditions.error, 0)], annotations: [] };
      });
    };
    return then(this.convert(resource), decide);
  }

  private readonly seconds = (): number => this.dependencies.clock.monotonic() / 1000;

  private convert(resource: VersionedResource): MaybePromise<VersionedInput> {
    return rescue(
      () => this.view.input(resource),
      (error) => {
        if (!(error instanceof ApiError)) throw error;
        throw new ConfigurationError(`failed to convert object version: ${error.message}`);
      },
    );
  }

  private recordResult(policy: ValidatingPolicy, binding: Binding, { decisions, annotations }: ValidationResult): void {
    const { metrics } = this.dependencies;
    decisions.forEach((decision, i) => {
      if (decision.action === 'deny') this.enforce(policy, binding, decision, i);
      else if (decision.evaluation === 'error') {
        metrics.checked('allow', policy.name, binding.name, errorTypeOf(decision.message), decision.seconds);
      }
    });
    for (const annotation of annotations) {
      if (annotation.error === undefined) this.audit.add(annotation.key, annotation.value);
      else {
        const { error: message, seconds } = annotation;
        this.denials.push({ policy: policy.name, binding: binding.name, message, reason: '' });
        metrics.checked('deny', policy.name, binding.name, errorTypeOf(message), seconds);
      }
    }
  }

  private enforce(policy: ValidatingPolicy, binding: Binding, decision: Decision, index: number): void {
    const { metrics } = this.dependencies;
    const { message, reason, seconds } = decision;
    const count = (action: 'deny' | 'audit' | 'warn'): void =>
      metrics.checked(action, policy.name, binding.name, errorTypeOf(message), seconds);
    for (const action of stringsOf(binding.spec['validationActions'])) {
      if (action === 'Deny') {
        this.denials.push({ policy: policy.name, binding: binding.name, message, reason });
        count('deny');
      } else if (action === 'Audit') {
        this.audit.recordFailure(binding, index, message);
        count('audit');
      } else if (action === 'Warn') {
        this.attributes.warn(
          `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
        );
        count('warn');
      }
    }
  }

  private refusal({ policy, binding, message, reason }: Denial): ApiError {
    const by = binding === undefined ? '' : ` with binding '${binding}'`;
    const text = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`;
    const forbidden = refusal(this.attributes, text);
    const details = { ...forbidden.details, causes: [...(forbidden.details?.causes ?? []), { message: text }] };
    const given = reason === '' ? 'Invalid' : reason;
    return new ApiError(CODES[given] ?? 422, given, forbidden.message, details);
  }
}

/**
 * Returns the `namespaceObject` of expressions: undefined for cluster-scoped objects and for Namespaces themselves. Throws ApiError
 * if the namespace does not exist.
 */
export function namespaceObject(
  { kind, namespace }: AdmissionAttributes,
  { namespaces }: AdmissionSources,
): MaybePromise<KubeObject | undefined> {
  if (namespace === '' || (kind.group === '' && kind.version === 'v1' && kind.kind === 'Namespace')) return undefined;
  return then(namespaces.get(namespace), (found) => {
    if (found === undefined) throw newNotFound({ group: '', resource: 'namespaces' }, namespace);
    return found;
  });
}
