import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import type { JsonPath } from '../../../schema/columns/json-path.js';
import { UsageError } from '../failure.js';
import { TabWriter } from './tab-writer.js';
import { compiled } from './template.js';

/** Prints the columns of `-o custom-columns=NAME:.metadata.name,…`. */
export class CustomColumns {
  private readonly columns: readonly { readonly header: string; readonly path: JsonPath }[];
  private readonly writer = new TabWriter();
  private printed = false;

  constructor(
    spec: string,
    private readonly headers: boolean,
  ) {
    this.columns = spec.split(/,(?![^[({]*[\])}])/).map((column) => {
      const colon = column.indexOf(':');
      if (colon <= 0) throw new UsageError(`custom-columns: ${column} is not HEADER:PATH`);
      return { header: column.slice(0, colon), path: compiled(relaxed(column.slice(colon + 1))) };
    });
    if (spec === '') throw new UsageError('custom-columns: no columns');
  }

  print(objects: readonly JsonObject[]): string {
    const rows = objects.map((object) =>
      this.columns.map(({ path }) => {
        const found = path.all(object);
        return found.length === 0 ? '<none>' : found.map(goText).join(',');
      }),
    );
    if (this.headers && !this.printed) rows.unshift(this.columns.map(({ header }) => header));
    this.printed = true;
    return this.writer.format(rows);
  }
}

/** Returns a value as Go prints it. */
function goText(value: JsonValue): string {
  if (value === null) return '<none>';
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${goText(value[key] ?? null)}`).join(' ')}]`;
}

/** Returns a path without its braces and with a leading dot: both are optional. */
function relaxed(text: string): string {
  const inner = /^\{(.*)\}$/s.exec(text)?.[1] ?? text;
  return /^[.[$@]/.test(inner) ? inner : `.${inner}`;
}
