import { type JsonObject, type JsonValue, objectAt, objectsOf, textAt } from '../../../apimachinery/json/json.js';
import { TabWriter } from './tab-writer.js';

export interface TableOptions {
  readonly wide: boolean;
  readonly headers: boolean;
  readonly withNamespace: boolean;
  readonly labels: boolean;
  readonly labelColumns: readonly string[];
  /** Written before the name, with a slash: where several types are printed. */
  readonly kind: string | undefined;
  /** A column for the types of the events of a watch. */
  readonly withEvent?: boolean;
}

interface Column {
  readonly name: string;
  readonly at: number;
  readonly wide: boolean;
  readonly isName: boolean;
}

const NONE = '<none>';

/** Prints server-side Tables as kubectl does. */
export class TablePrinter {
  private readonly writer = new TabWriter();
  private columns: readonly Column[] | undefined;

  constructor(private readonly options: TableOptions) {}

  print(table: JsonObject, event = ''): string {
    const { options } = this;
    const lines: string[][] = [];
    const definitions = objectsOf(table['columnDefinitions']);
    // Only the first event of a watch has columns.
    if (definitions.length > 0 && this.columns === undefined) {
      const all = definitions.map((column, at) => ({
        name: textAt(column, 'name'),
        at,
        wide: column['priority'] !== 0,
        isName: column['format'] === 'name',
      }));
      this.columns = all.filter(({ wide }) => options.wide || !wide);
      if (options.headers) lines.push(this.header(this.columns.map(({ name }) => name)));
    }
    for (const row of objectsOf(table['rows'])) lines.push(this.row(row, event));
    return this.writer.format(lines);
  }

  private header(names: readonly string[]): string[] {
    const { withNamespace, labelColumns, labels, withEvent = false } = this.options;
    return [
      ...(withEvent ? ['EVENT'] : []),
      ...(withNamespace ? ['NAMESPACE'] : []),
      ...names.map((name) => name.toUpperCase()),
      ...labelColumns.map((label) => label.slice(label.lastIndexOf('/') + 1).toUpperCase()),
      ...(labels ? ['LABELS'] : []),
    ];
  }

  private row(row: JsonObject, event: string): string[] {
    const { withNamespace, labelColumns, labels, kind, withEvent = false } = this.options;
    const cells = Array.isArray(row['cells']) ? row['cells'] : [];
    const metadata = objectAt(objectAt(row, 'object'), 'metadata');
    const has = objectAt(metadata, 'labels') ?? {};
    const shown = (this.columns ?? []).map(({ isName, at }) => {
      const text = cellText(cells[at]);
      return kind !== undefined && isName ? `${kind}/${text}` : text;
    });
    const pairs = Object.keys(has)
      .sort()
      .map((key) => `${key}=${textAt(has, key)}`);
    return [
      ...(withEvent ? [event] : []),
      ...(withNamespace ? [textAt(metadata, 'namespace')] : []),
      ...shown,
      ...labelColumns.map((label) => textAt(has, label)),
      ...(labels ? [pairs.join(',') || NONE] : []),
    ];
  }
}

/** A cell ends at the first line break: the table has a line for each object. */
function cellText(cell: JsonValue | undefined): string {
  if (cell === undefined || cell === null) return '';
  if (typeof cell !== 'string') return typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
  const end = cell.search(/[\f\n\r]/);
  return end < 0 ? cell : `${cell.slice(0, end)}...`;
}
