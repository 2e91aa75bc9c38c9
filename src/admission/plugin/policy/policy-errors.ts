import { ApiError } from '../../../apimachinery/meta/errors.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { refusal } from '../../refusal.js';
import type { CompiledPolicy } from './hooks.js';
import { ConfigurationError } from './params.js';

interface PolicyError {
  readonly message: string;
  readonly reason: string;
}

/** Collects the errors of a request's mutating policies that must not be ignored. */
export class PolicyErrors {
  private readonly errors: PolicyError[] = [];

  constructor(private readonly attributes: AdmissionAttributes) {}

  /** `binding` undefined: the error is one of the policy itself. */
  add({ name, failurePolicy }: CompiledPolicy, binding: string | undefined, text: string, reason: string): void {
    if (failurePolicy === 'Ignore') return;
    const who = binding === undefined ? quote(name) : `'${name}' with binding '${binding}'`;
    this.errors.push({ message: `policy ${who} denied request: ${text}`, reason });
  }

  /** Records a configuration error; rethrows any other error. */
  misconfigured(policy: CompiledPolicy, binding: string | undefined, error: unknown): void {
    if (!(error instanceof ConfigurationError)) throw error;
    const what = binding === undefined ? 'policy' : 'binding';
    this.add(policy, binding, `failed to configure ${what}: ${error.message}`, '');
  }

  /** Refuses the request if there are errors. The first one is the message. */
  throwFirst(): void {
    const [first] = this.errors;
    if (first === undefined) return;
    const forbidden = refusal(this.attributes, 'admission request denied by policy');
    const causes = this.errors.map(({ message }) => ({ message }));
    const details = { ...forbidden.details, causes: [...(forbidden.details?.causes ?? []), ...causes] };
    throw new ApiError(403, first.reason === '' ? 'Forbidden' : first.reason, first.message, details);
  }
}
