import { ApiError, newNotFound } from '../../../../apimachinery/meta/errors.js';
import { textsOf } from '../../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../../authorization/authorizer/interfaces.js';
import type { Clock } from '../../../../util/clock.js';
import { settled } from '../../../cel/activation.js';
import type { MatchConditionsMetrics } from '../../../cel/match-conditions.js';
import { RequestView } from '../../../cel/request-view.js';
import type { AdmissionAttributes, AdmissionPlugin, VersionedResource } from '../../../interfaces.js';
import { refusal } from '../../../refusal.js';
import type { AdmissionSources } from '../../../sources.js';
import { AuditAnnotations } from './audit-annotations.js';
import { type Decision, evaluateValidations, failed, type ValidationResult } from './evaluate-validations.js';
import { type Binding, type PolicyHook, PolicyHooks } from '../hooks.js';
import { isOutOfReach, matched, whenReady } from '../matching.js';
import { errorTypeOf, type ValidatingPolicyMetrics } from '../metrics.js';
import { collectParams, ConfigurationError, openParams } from '../params.js';
import { ParamKinds } from '../param-kinds.js';
import { compileValidatingPolicy, type ValidatingPolicy } from './validating-policy.js';

export interface PolicyDependencies {
  readonly sources: AdmissionSources;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly conditionMetrics: MatchConditionsMetrics | undefined;
}

export interface ValidatingPolicyDependencies extends PolicyDependencies {
  readonly metrics: ValidatingPolicyMetrics;
}

type Hook = PolicyHook<ValidatingPolicy>;

/** What refuses a request; without a binding it is the policy itself. */
interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

const CODES: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

/** The plugin ValidatingAdmissionPolicy. */
export function validatingAdmissionPolicy(dependencies: ValidatingPolicyDependencies): AdmissionPlugin {
  const { sources, clock, conditionMetrics } = dependencies;
  const hooks = new PolicyHooks(sources.validatingPolicies, sources.validatingPolicyBindings, (policy) =>
    compileValidatingPolicy(policy, conditionMetrics),
  );
  ParamKinds.of(sources).follow(hooks);
  const dispatch = async (attributes: AdmissionAttributes): Promise<void> => {
    await whenReady(hooks, attributes, clock);
    const found = hooks.for(attributes.resource);
    if (found.length > 0) await new ValidatingRequest(attributes, dependencies).run(found);
  };
  return {
    name: 'ValidatingAdmissionPolicy',
    handles: () => true,
    readsObjects: (resource) => !hooks.synced() || hooks.for(resource).length > 0,
    validate(attributes) {
      if (hooks.synced() && hooks.for(attributes.resource).length === 0) return;
      return isOutOfReach(attributes) ? undefined : dispatch(attributes);
    },
  };
}

/** The validation of one request. */
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

  /** Every policy is evaluated; the first refusal is the answer. */
  async run(hooks: readonly Hook[]): Promise<void> {
    for (const hook of hooks) await this.runPolicy(hook);
    this.audit.publishFailure();
    const [first] = this.denials;
    if (first !== undefined) throw this.refusal(first);
  }

  private async runPolicy(hook: Hook): Promise<void> {
    const { policy } = hook;
    try {
      const resource = await matched(policy.criteria, this.attributes, this.dependencies.sources.namespaces);
      if (resource === undefined) return;
      const { params } = this.dependencies.sources;
      const store = policy.paramKind && (await openParams(params, policy.paramKind));
      for (const binding of hook.bindings) {
        await this.guarded(policy, binding, () => this.runBinding(policy, binding, resource, store));
      }
      this.audit.publish(policy.name);
    } catch (error) {
      this.misconfigured(policy, undefined, error);
    }
  }

  private async guarded(policy: ValidatingPolicy, binding: Binding, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.misconfigured(policy, binding, error);
    }
  }

  private misconfigured(policy: ValidatingPolicy, binding: Binding | undefined, error: unknown): void {
    if (!(error instanceof ConfigurationError)) throw error;
    if (policy.failurePolicy === 'Ignore') return;
    const message = `failed to configure ${binding === undefined ? 'policy' : 'binding'}: ${error.message}`;
    this.denials.push({ policy: policy.name, binding: binding?.name, message, reason: '' });
  }

  private async runBinding(
    policy: ValidatingPolicy,
    binding: Binding,
    resource: VersionedResource,
    store: Awaited<ReturnType<typeof openParams>> | undefined,
  ): Promise<void> {
    const { sources } = this.dependencies;
    if (binding.criteria !== undefined) {
      if ((await matched(binding.criteria, this.attributes, sources.namespaces)) === undefined) return;
    }
    const params = await collectParams(policy.paramKind, store, binding, this.attributes.namespace);
    if (params.length === 0) return;
    const namespace = await this.namespace();
    for (const param of params) {
      const result = await this.evaluate(policy, resource, param, namespace);
      this.account(policy, binding, result);
    }
  }

  /** Expressions about a namespace do not see it as the one that the request is in. */
  private async namespace(): Promise<KubeObject | undefined> {
    const { kind, namespace } = this.attributes;
    if (namespace === '' || (kind.group === '' && kind.version === 'v1' && kind.kind === 'Namespace')) return undefined;
    return namespaceOf(this.dependencies.sources, namespace);
  }

  private async evaluate(
    policy: ValidatingPolicy,
    resource: VersionedResource,
    params: KubeObject | undefined,
    namespace: KubeObject | undefined,
  ): Promise<ValidationResult> {
    const versioned = await this.convert(resource);
    const input = { ...versioned, params, namespace, composition: policy.composition };
    const conditions = await policy.conditions.match(input, this.attributes.operation);
    if (!conditions.matches) {
      if (conditions.error === undefined) return { decisions: [], annotations: [] };
      return { decisions: [failed(policy, conditions.error, 0)], annotations: [] };
    }
    const now = (): number => this.dependencies.clock.monotonic() / 1000;
    return settled(() => evaluateValidations(policy, input, now));
  }

  private async convert(resource: VersionedResource): Promise<Awaited<ReturnType<RequestView['input']>>> {
    try {
      return await this.view.input(resource);
    } catch (error) {
      if (error instanceof ApiError) {
        throw new ConfigurationError(`failed to convert object version: ${error.message}`);
      }
      throw error;
    }
  }

  private account(policy: ValidatingPolicy, binding: Binding, { decisions, annotations }: ValidationResult): void {
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
    const count = (action: 'deny' | 'audit' | 'warn'): void => {
      metrics.checked(action, policy.name, binding.name, errorTypeOf(message), seconds);
    };
    for (const action of textsOf(binding.spec['validationActions'])) {
      if (action === 'Deny') {
        this.denials.push({ policy: policy.name, binding: binding.name, message, reason });
        count('deny');
      } else if (action === 'Audit') {
        this.audit.failed(binding, index, message);
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

/** Throws ApiError where there is none. */
export async function namespaceOf({ namespaces }: AdmissionSources, name: string): Promise<KubeObject> {
  const found = await namespaces.get(name);
  if (found === undefined) throw newNotFound({ group: '', resource: 'namespaces' }, name);
  return found;
}
