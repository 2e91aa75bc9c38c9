import { type FieldError, invalid, type Printed } from '../apimachinery/meta/field-error.js';
import type { JsonValue } from '../apimachinery/json/json.js';

/** Errors beyond this number are not collected; a last one says so. */
export const MAX_ERRORS = 10_000;
/** Values visited by one validation; alternatives (anyOf …) visit a value once each. A fifth of a second of work. */
export const MAX_VISITS = 3_000_000;
/** What an error costs in visits. */
const ERROR_COST = 10;

type Segment = string | number;

/** Thrown to leave a walk that costs too much. */
export class Exhausted extends Error {}

/**
 * What one validation collects. The path is kept as a stack of segments and becomes text only where there is an error;
 * `matches` counts passed checks, by which kube-apiserver selects the failures of the best alternative of anyOf and oneOf.
 */
export class Walk {
  errors: FieldError[] = [];
  /** The texts by which equal errors are recognized, in step with `errors`. */
  messages: string[] = [];
  readonly path: Segment[] = [];
  matches = 0;
  visits = 0;
  /** Whether the first segment is an additional property: its path begins with a dot. */
  rootAdditional = false;
  /** Only whether there is an error is asked: nothing is collected. */
  probing = false;
  failed = false;

  constructor(private readonly prefix: string) {}

  /** The path as messages have it, relative to the prefix. */
  get name(): string {
    let text = '';
    for (const segment of this.path) {
      if (typeof segment === 'number') text += `[${String(segment)}]`;
      else text += text === '' && !this.rootAdditional ? segment : `.${segment}`;
    }
    return text;
  }

  /** The field of an error at a path. */
  field(name: string): string {
    const tail = name.startsWith('.') ? name.slice(1) : name;
    if (tail === '') return this.prefix === '' ? '<nil>' : this.prefix;
    return this.prefix === '' ? tail : `${this.prefix}.${tail}`;
  }

  hasFailed(): boolean {
    return this.failed;
  }

  /** Called before an error's text is made: true where nobody wants it. */
  onlyNoted(): boolean {
    this.failed = true;
    return this.probing;
  }

  add(error: FieldError, message: string): void {
    if (this.errors.length >= MAX_ERRORS) throw new Exhausted();
    this.visits += ERROR_COST;
    this.errors.push(error);
    this.messages.push(message);
  }

  addInvalid(name: string, value: JsonValue | Printed, message: string): void {
    this.add(invalid(this.field(name), value, message), message);
  }

  /** An error that names no field. */
  addGeneral(message: string): void {
    this.add(invalid(this.field(''), '', message), message);
  }

  truncate(length: number): void {
    this.errors.length = length;
    this.messages.length = length;
  }

  /** Equal errors count once. */
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
