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

/** What has gone wrong with the mutating policies of a request that is not to be ignored. */
export class PolicyErrors {
  private readonly errors: PolicyError[] = [];

  constructor(private readonly attributes: AdmissionAttributes) {}

  /** `binding` undefined: it is the policy itself. */
  add({ name, failurePolicy }: CompiledPolicy, binding: string | undefined, text: string, reason: string): void {
    if (failurePolicy === 'Ignore') return;
    const who = binding === undefined ? quote(name) : `'${name}' with binding '${binding}'`;
    this.errors.push({ message: `policy ${who} denied request: ${text}`, reason });
  }

  /** Notes an error of the configuration; throws any other. */
  misconfigured(policy: CompiledPolicy, binding: string | undefined, error: unknown): void {
    if (!(error instanceof ConfigurationError)) throw error;
    const what = binding === undefined ? 'policy' : 'binding';
    this.add(policy, binding, `failed to configure ${what}: ${error.message}`, '');
  }

  /** Refuses the request if there are errors: the first is the message. */
  throwFirst(): void {
    const [first] = this.errors;
    if (first === undefined) return;
    const forbidden = refusal(this.attributes, 'admission request denied by policy');
    const causes = this.errors.map(({ message }) => ({ message }));
    const details = { ...forbidden.details, causes: [...(forbidden.details?.causes ?? []), ...causes] };
    throw new ApiError(403, first.reason === '' ? 'Forbidden' : first.reason, first.message, details);
  }
}
