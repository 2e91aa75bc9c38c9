import { newBadRequest } from '../../../apimachinery/meta/errors.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import { first, parseQuery, type Query as Parameters } from '../../../request/query.js';

const MAX_INT64 = 0x7fffffffffffffffn;
const MIN_INT64 = -0x8000000000000000n;

/** Reads query parameters as kube-apiserver's parameter codec does: the first value of a name counts. */
export class Query {
  private readonly parameters: Parameters;

  /** `url`: path and query, as in the request line. */
  constructor(url: string) {
    const at = url.indexOf('?');
    this.parameters = parseQuery(at < 0 ? '' : url.slice(at + 1));
  }

  has(name: string): boolean {
    return this.parameters.has(name);
  }

  string(name: string): string {
    return first(this.parameters, name);
  }

  all(name: string): readonly string[] {
    return this.parameters.get(name) ?? [];
  }

  /** Returns true for any value except `0` and `false`; undefined if the parameter is absent. */
  boolean(name: string): boolean | undefined {
    const text = this.parameters.get(name)?.[0];
    if (text === undefined) return undefined;
    return text !== '0' && text.toLowerCase() !== 'false';
  }

  /** Returns an integer; undefined if the parameter is absent. Throws a 400 with Go's text if it is not a 64-bit integer. */
  integer(name: string): number | undefined {
    const text = this.parameters.get(name)?.[0];
    if (text === undefined) return undefined;
    if (!/^[+-]?[0-9]+$/.test(text)) throw newBadRequest(`strconv.ParseInt: parsing ${quote(text)}: invalid syntax`);
    const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
    if (value > MAX_INT64 || value < MIN_INT64) {
      throw newBadRequest(`strconv.ParseInt: parsing ${quote(text)}: value out of range`);
    }
    return Number(value);
  }
}
