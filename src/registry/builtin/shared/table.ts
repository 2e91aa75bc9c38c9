import { readDataFile } from '../../../apimachinery/scheme/data-files.js';
import { isObject, type JsonValue, textAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { timeMillis } from '../../../apimachinery/meta/time.js';
import { humanDuration } from '../../../util/text/human-duration.js';
import type { AgeText, TableColumn, TableConvertor } from '../../rest/interfaces.js';

const UNKNOWN = '<unknown>';

/** A cell that shows how long ago something happened; unknown if `since` is undefined. */
export class Age {
  /** `before` and `after` are the texts around the age in its cell. */
  constructor(
    readonly since: number | undefined,
    readonly before = '',
    readonly after = '',
  ) {}

  shown(now: number): string {
    return this.since === undefined ? UNKNOWN : `${this.before}${humanDuration(now - this.since)}${this.after}`;
  }

  /** Returns the age in the form from which cached rows print it. */
  get open(): number | AgeText | undefined {
    const { since, before, after } = this;
    return since === undefined || (before === '' && after === '') ? since : { since, before, after };
  }

  /** Returns the age of an object. */
  static of(object: KubeObject): Age {
    return Age.at(object.metadata.creationTimestamp);
  }

  static at(time: JsonValue | undefined): Age {
    return new Age(typeof time === 'string' ? timeMillis(time) : undefined);
  }
}

export type Cell = JsonValue | Age;

let columnsByPath: Readonly<Record<string, JsonValue | undefined>> | undefined;

/** Returns the columns of a built-in type by the path of its collection: `api/v1/pods`. */
function columnsOf(path: string): TableColumn[] {
  if (columnsByPath === undefined) {
    const all = readDataFile('types', 'columns.json');
    columnsByPath = isObject(all) ? all : {};
  }
  const columns = columnsByPath[path];
  if (!Array.isArray(columns)) throw new Error(`data/types/columns.json: no columns for ${path}`);
  return columns.filter(isObject).map((column) => ({
    name: textAt(column, 'name'),
    type: textAt(column, 'type'),
    format: textAt(column, 'format'),
    description: textAt(column, 'description'),
    priority: typeof column['priority'] === 'number' ? column['priority'] : 0,
  }));
}

/** Returns a convertor for a function that returns a row. Ages are printed as of the request. */
export function tableOf<T extends KubeObject = KubeObject>(
  path: string,
  row: (object: T) => readonly Cell[],
  conditions?: (object: T) => JsonValue | undefined,
): TableConvertor {
  let columns: readonly TableColumn[] | undefined;
  return {
    get columns() {
      columns ??= columnsOf(path);
      return columns;
    },
    cells: (object, now) => row(object as T).map((cell) => (cell instanceof Age ? cell.shown(now) : cell)),
    timeDependent: true,
    since: (object) => row(object as T).map((cell) => (cell instanceof Age ? cell.open : undefined)),
    ...(conditions && { conditions: (object) => conditions(object as T) }),
  };
}
