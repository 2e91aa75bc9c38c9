import type { Bindings, Program } from '@annex/cel';
import { quote } from '../../apimachinery/meta/meta.js';
import { PER_CALL_LIMIT } from './compilation.js';
import { trimSpace } from '../../util/text/trim-space.js';

const MAX_MESSAGE_BYTES = 5 * 1024;

export interface MessageResult {
  /** If absent, the rule's plain message is used. */
  readonly text?: string;
  /** An error that ends the validation. */
  readonly fatal?: string;
  readonly budget: number;
}

/** Evaluates a messageExpression. A result that cannot be a message is ignored, but its cost counts. */
export function evaluateMessage(program: Program, source: string, bindings: Bindings, budget: number): MessageResult {
  const outcome = program.evaluate(bindings, PER_CALL_LIMIT);
  if (outcome.cost > budget) {
    const fatal =
      'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run';
    return { fatal, budget: -1 };
  }
  if (outcome.kind === 'limit') {
    const fatal = `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${quote(source)}`;
    return { fatal, budget: -1 };
  }
  const left = budget - outcome.cost;
  if (outcome.kind === 'error' || typeof outcome.value !== 'string') return { budget: left };
  const text = trimSpace(outcome.value);
  const usable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES;
  return usable ? { text, budget: left } : { budget: left };
}
