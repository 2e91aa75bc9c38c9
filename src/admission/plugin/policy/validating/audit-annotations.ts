import { stringsOf, textAt } from '../../../../apimachinery/json/json.js';
import { goJson } from '../../../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../../../interfaces.js';
import type { Binding } from '../hooks.js';

const MAX_VALUE_BYTES = 10 * 1024;
const FAILURE = 'validation.policy.admission.k8s.io/validation_failure';

/** The audit annotations of the validating policies of one request. */
export class AuditAnnotations {
  /** The distinct values for the policy that is being evaluated, by key. */
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

  /** Writes the annotations of a policy. The values of several bindings are joined into a list. */
  publish(policy: string): void {
    for (const [key, values] of this.values) this.attributes.annotate(`${policy}/${key}`, values.join(', '));
    this.values.clear();
  }

  /** Records a validation failure of a binding with the action Audit. There is only one such annotation, so the last failure wins. */
  recordFailure({ name, spec }: Binding, expressionIndex: number, message: string): void {
    const actions = goJson(stringsOf(spec['validationActions']));
    const policy = goJson(textAt(spec, 'policyName'));
    // The members are in kube-apiserver's order.
    this.failure = `[{"message":${goJson(message)},"policy":${policy},"binding":${goJson(name)},"expressionIndex":${String(expressionIndex)},"validationActions":${actions}}]`;
  }

  publishFailure(): void {
    if (this.failure !== undefined) this.attributes.annotate(FAILURE, this.failure);
  }
}
