import { type FieldError, type FieldPath, forbidden } from '../../apimachinery/meta/field-error.js';
import { UNBOUNDED } from '@annex/cel';

/** The maximum estimated cost of all rules of one version. */
const TOTAL_COST_LIMIT = 100_000_000;
const NAMED_RULES = 4;

/** Multiplies a cost by how often it can arise. 2^64 stands for anything beyond 64 bits. */
export const timesCardinality = (cost: number, cardinality: number): number =>
  cost === 0 ? 0 : Math.min(cost * cardinality, UNBOUNDED);

/** Sums estimates and keeps the largest. */
export class CostTotals {
  private total = 0;
  private largest: { path: FieldPath; cost: number }[] = [];

  observe(path: FieldPath, cost: number): void {
    this.total = Math.min(this.total + cost, UNBOUNDED);
    if (cost < TOTAL_COST_LIMIT / 100) return;
    this.largest.push({ path, cost });
    this.largest.sort((a, b) => b.cost - a.cost);
    this.largest = this.largest.slice(0, NAMED_RULES);
  }

  /** Returns the errors of a version whose rules cost too much in total. */
  errors(path: FieldPath): FieldError[] {
    if (this.total <= TOTAL_COST_LIMIT) return [];
    const why = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const name = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    return [
      ...this.largest.map((entry) => forbidden(entry.path, why)),
      forbidden(path, costMessage(name, this.total, TOTAL_COST_LIMIT)),
    ];
  }
}

/** Returns a message with the factor by which a cost exceeds its limit, and a hint. */
export function costMessage(name: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  const hint =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';
  return `${name} exceeds budget by factor of ${shown} (${hint})`;
}
