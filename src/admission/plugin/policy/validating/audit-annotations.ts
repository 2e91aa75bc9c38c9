import { textsOf } from '../../../../apimachinery/json/values.js';
import { stringAt } from '../../../../apimachinery/json/json.js';
import { goJson } from '../../../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../../../interfaces.js';
import type { Binding } from '../hooks.js';

const MAX_VALUE_BYTES = 10 * 1024;
const FAILURE = 'validation.policy.admission.k8s.io/validation_failure';

/** The audit annotations of the validating policies of one request. */
export class AuditAnnotations {
  /** Of the policy that is being evaluated, by key; each value once. */
  private readonly values = new Map<string, string[]>();
  private failure: string | undefined;

  constructor(private readonly attributes: AdmissionAttributes) {}

  add(key: string, value: string): void {
    const bytes = Buffer.from(value);
    const kept = bytes.length > MAX_VALUE_BYTES ? bytes.subarray(0, MAX_VALUE_BYTES).toString() : value;
    const values = this.values.get(key) ?? [];
    this.values.set(key, values);
    if (!values.includes(kept)) values.push(kept);
  }

  /** Annotates what was added for a policy; the values of several bindings make a list. */
  publish(policy: string): void {
    for (const [key, values] of this.values) this.attributes.annotate(`${policy}/${key}`, values.join(', '));
    this.values.clear();
  }

  /** Notes a validation that failed under a binding with the action Audit. There is one such annotation: the last one stays. */
  failed({ name, spec }: Binding, expressionIndex: number, message: string): void {
    const actions = goJson(textsOf(spec['validationActions']));
    const policy = goJson(stringAt(spec, 'policyName') ?? '');
    // In the order in which kube-apiserver writes the members.
    this.failure = `[{"message":${goJson(message)},"policy":${policy},"binding":${goJson(name)},"expressionIndex":${String(expressionIndex)},"validationActions":${actions}}]`;
  }

  publishFailure(): void {
    if (this.failure !== undefined) this.attributes.annotate(FAILURE, this.failure);
  }
}
