import type { Value } from '../values/value.js';
import { CelError, NO_SUCH_OVERLOAD } from '../values/value.js';
import type { Frame, Run } from './frame.js';

/** `&&` (`decisive` is false) and `||` (true): the decisive value wins over errors on either side. */
export function logical(terms: readonly Run[], decisive: boolean): Run {
  const [first, second, third] = terms;
  if (first !== undefined && second !== undefined) {
    if (terms.length === 2) return ofTwo(first, second, decisive);
    if (third !== undefined && terms.length === 3) return ofThree(first, second, third, decisive);
  }
  return (frame) => from(frame, terms, 0, decisive, undefined);
}

const problem = (value: Value): Value => (value instanceof CelError ? value : NO_SUCH_OVERLOAD);

/** The terms from an index on; the first error counts if nothing decides. */
function from(frame: Frame, terms: readonly Run[], start: number, decisive: boolean, failed: Value | undefined): Value {
  let error = failed;
  for (let i = start; i < terms.length; i++) {
    const value = (terms[i] as Run)(frame);
    if (value === decisive) return value;
    if (typeof value !== 'boolean') error ??= problem(value);
  }
  return error ?? !decisive;
}

function ofTwo(left: Run, right: Run, decisive: boolean): Run {
  return (frame) => {
    const a = left(frame);
    if (a === decisive) return a;
    const b = right(frame);
    if (b === decisive) return b;
    if (typeof a !== 'boolean') return problem(a);
    return typeof b === 'boolean' ? b : problem(b);
  };
}

function ofThree(first: Run, second: Run, third: Run, decisive: boolean): Run {
  const rest = [second, third];
  return (frame) => {
    const a = first(frame);
    if (a === decisive) return a;
    if (typeof a !== 'boolean') return from(frame, rest, 0, decisive, problem(a));
    const b = second(frame);
    if (b === decisive) return b;
    if (typeof b !== 'boolean') return from(frame, rest, 1, decisive, problem(b));
    const c = third(frame);
    return typeof c === 'boolean' ? c : problem(c);
  };
}
