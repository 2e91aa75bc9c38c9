import { toInt64 } from '../../apimachinery/json/float.js';
import { formatFloat } from '../../apimachinery/json/go-format.js';
import { type JsonObject, type JsonValue, isObject } from '../../apimachinery/json/json.js';
import { type KubeObject, goJson } from '../../apimachinery/meta/meta.js';
import { humanDuration } from '../../util/text/human-duration.js';
import { JsonPath } from './json-path.js';
import { JsonPathError } from './json-path-parser.js';

/** A column of a Table (meta/v1 TableColumnDefinition). */
interface Column extends JsonObject {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

/** Converts custom resources to a Table. */
export interface ColumnConvertor {
  readonly columns: readonly Column[];
  cells(object: KubeObject, now: number): JsonValue[];
  /** True if there is a column of type date, whose cells are ages. */
  readonly timeDependent: boolean;
  /** Returns, for each cell that shows an age, the time from which it counts. */
  since(object: KubeObject): readonly (number | undefined)[];
}

const NAME =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names';
const CREATED =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata';

const NAME_COLUMN: Column = { name: 'Name', type: 'string', format: 'name', description: NAME, priority: 0 };
const AGE: JsonObject = {
  name: 'Age',
  type: 'date',
  description: CREATED,
  jsonPath: '.metadata.creationTimestamp',
};

interface Compiled {
  readonly column: Column;
  readonly path: JsonPath;
}

/**
 * Builds the table of a version from its additionalPrinterColumns: the name, then one column for each, or the age if there are
 * none. The first column with an invalid path, and all after it, are omitted.
 */
export function tableConvertorFor(columns: readonly JsonObject[]): ColumnConvertor {
  const compiled: Compiled[] = [];
  for (const definition of columns.length === 0 ? [AGE] : columns) {
    const column = compileColumn(definition);
    if (column === undefined) break;
    compiled.push(column);
  }
  return {
    columns: [NAME_COLUMN, ...compiled.map(({ column }) => column)],
    timeDependent: compiled.some(({ column }) => column.type === 'date'),
    cells: (object, now) => [
      object.metadata.name ?? '',
      ...compiled.map(({ column, path }) => cell(column.type, path.first(object), now)),
    ],
    since: (object) => [
      undefined,
      ...compiled.map(({ column, path }) => (column.type === 'date' ? timeOf(path.first(object)) : undefined)),
    ],
  };
}

function compileColumn(definition: JsonObject): Compiled | undefined {
  const text = (key: string): string => (typeof definition[key] === 'string' ? definition[key] : '');
  const jsonPath = text('jsonPath');
  const { priority } = definition;
  try {
    const path = new JsonPath(jsonPath);
    const described = text('description');
    const column: Column = {
      name: text('name'),
      type: text('type'),
      format: text('format'),
      description: described === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : described,
      priority: typeof priority === 'number' ? priority : 0,
    };
    return { column, path };
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function cell(type: string, value: JsonValue | undefined, now: number): JsonValue {
  if (value === undefined) return null;
  if (type === 'string') return printed(value);
  if (value === null) return null;
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? toInt64(value) : typeof value === 'bigint' ? value : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? age(value, now) : null;
    default:
      return null;
  }
}

/** Formats a value as Go prints it. */
function printed(value: JsonValue): string {
  if (value === null) return '<no value>';
  if (Array.isArray(value) || isObject(value)) return goJson(value);
  return typeof value === 'number' && !Number.isSafeInteger(value) ? formatFloat(value) : String(value);
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}([.,]\d+)?(Z|[+-]\d{2}:\d{2})$/;

function timeOf(value: JsonValue | undefined): number | undefined {
  if (typeof value !== 'string' || !RFC3339.test(value)) return undefined;
  const time = Date.parse(value.replace(',', '.'));
  return Number.isNaN(time) ? undefined : time;
}

function age(value: string, now: number): string {
  if (value === '' || value === 'null' || value === '0001-01-01T00:00:00Z') return '<unknown>';
  const time = timeOf(value);
  return time === undefined ? '<invalid>' : humanDuration(now - time);
}
