import { type FieldError, invalid, type Printed } from '../apimachinery/meta/field-error.js';
import type { JsonValue } from '../apimachinery/json/json.js';

/** The maximum number of collected errors; an additional one reports that there are more. */
export const MAX_ERRORS = 10_000;
/** The maximum number of values that one validation visits; each alternative (anyOf …) visits a value again. A fifth of a second of work. */
export const MAX_VISITS = 3_000_000;
/** The cost of an error, in visits. */
const ERROR_COST = 10;

/** Thrown to abort a walk that costs too much. */
export class BudgetExceededError extends Error {}

/**
 * The state of one validation. The path is a stack of segments that becomes text only for errors; `matches` counts passed checks,
 * by which kube-apiserver selects the failures of the best alternative of anyOf and oneOf.
 */
export class Walk {
  errors: FieldError[] = [];
  /** The texts that identify equal errors, in step with `errors`. */
  messages: string[] = [];
  readonly path: (string | number)[] = [];
  matches = 0;
  visits = 0;
  /** True if the first segment is an additional property: its path begins with a dot. */
  rootAdditional = false;
  /** True if only the presence of an error matters, so that none is collected. */
  probing = false;
  failed = false;

  constructor(private readonly prefix: string) {}

  /** The path as messages show it, relative to the prefix. */
  get name(): string {
    let text = '';
    for (const segment of this.path) {
      if (typeof segment === 'number') text += `[${String(segment)}]`;
      else text += text === '' && !this.rootAdditional ? segment : `.${segment}`;
    }
    return text;
  }

  /** Returns the field of an error at a path. */
  field(name: string): string {
    const tail = name.startsWith('.') ? name.slice(1) : name;
    if (tail === '') return this.prefix === '' ? '<nil>' : this.prefix;
    return this.prefix === '' ? tail : `${this.prefix}.${tail}`;
  }

  hasFailed(): boolean {
    return this.failed;
  }

  /** Records a failure before its text is built. Returns true if the text is not needed. */
  recordFailure(): boolean {
    this.failed = true;
    return this.probing;
  }

  add(error: FieldError, message: string): void {
    if (this.errors.length >= MAX_ERRORS) throw new BudgetExceededError();
    this.visits += ERROR_COST;
    this.errors.push(error);
    this.messages.push(message);
  }

  addInvalid(name: string, value: JsonValue | Printed, message: string): void {
    this.add(invalid(this.field(name), value, message), message);
  }

  /** Adds an error that names no field. */
  addGeneral(message: string): void {
    this.add(invalid(this.field(''), '', message), message);
  }

  truncate(length: number): void {
    this.errors.length = length;
    this.messages.length = length;
  }

  /** Returns the errors without duplicates. */
  unique(): FieldError[] {
    if (this.errors.length < 2) return this.errors;
    const seen = new Set<string>();
    return this.errors.filter((_, i) => {
      const message = this.messages[i] ?? '';
      if (seen.has(message)) return false;
      seen.add(message);
      return true;
    });
  }
}
