import type { JsonValue } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { humanDuration } from '../../util/text/human-duration.js';
import type { TableColumn, TableConvertor } from '../rest/interfaces.js';

/** kube-apiserver's descriptions of the fields in the columns that most types have. */
const NAME =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names';
const CREATED =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata';

export const column = (name: string, type: string, description: string, priority = 0, format = ''): TableColumn => ({
  name,
  type,
  format,
  description,
  priority,
});

export const NAME_COLUMN = column('Name', 'string', NAME, 0, 'name');
export const CREATED_AT_COLUMN = column('Created At', 'date', CREATED);
export const AGE_COLUMN = column('Age', 'string', CREATED);

/** Returns the cell of an age that the server prints. */
function ageCell(object: KubeObject, now: number): string {
  const created = Date.parse(object.metadata.creationTimestamp ?? '');
  return Number.isNaN(created) ? '<unknown>' : humanDuration(now - created);
}

/** The table of types without one of their own. */
export const defaultTable: TableConvertor = {
  columns: [NAME_COLUMN, CREATED_AT_COLUMN],
  cells: (object) => [object.metadata.name ?? '', object.metadata.creationTimestamp ?? '<unknown>'],
  timeDependent: false,
  emptyIsNull: true,
};

/** Returns a table with a single age, in the column `Age`. `cells` returns the cells of the other columns in order. */
export function tableWithAge(
  columns: readonly TableColumn[],
  cells: (object: KubeObject) => readonly JsonValue[],
): TableConvertor {
  const at = columns.indexOf(AGE_COLUMN);
  return {
    columns,
    cells(object, now) {
      const all = [...cells(object)];
      all.splice(at, 0, ageCell(object, now));
      return all;
    },
    timeDependent: true,
    since(object) {
      const created = Date.parse(object.metadata.creationTimestamp ?? '');
      return columns.map((_, i) => (i === at && !Number.isNaN(created) ? created : undefined));
    },
  };
}
