import { type ApiError, newApplyConflict } from '../apimachinery/meta/errors.js';
import { quote } from '../apimachinery/meta/meta.js';
import { formatPath } from '../structured-merge-diff/fieldpath/path-element.js';
import type { Conflict } from '../structured-merge-diff/updater.js';
import { parseIdentifier } from './managed.js';

/** Returns the 409 with one cause per field, grouped by the managers that own them. */
export function conflictError(conflicts: readonly Conflict[]): ApiError {
  const paths = conflicts.map((conflict) => formatPath(conflict.path));
  const causes = conflicts.map((conflict, i) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${formatManager(conflict.manager)}`,
    field: paths[i] ?? '',
  }));
  const [only] = causes;
  if (only !== undefined && causes.length === 1) {
    return newApplyConflict(causes, `Apply failed with 1 conflict: ${only.message}: ${only.field}`);
  }
  const lines: string[] = [];
  let last: string | undefined;
  conflicts.forEach(({ manager }, i) => {
    if (manager !== last) lines.push(`conflicts with ${formatManager(manager)}:`);
    last = manager;
    lines.push(`- ${paths[i] ?? ''}`);
  });
  return newApplyConflict(causes, `Apply failed with ${String(conflicts.length)} conflicts: ${lines.join('\n')}`);
}

function formatManager(identifier: string): string {
  const { manager, operation, apiVersion, subresource } = parseIdentifier(identifier);
  const name = subresource === '' ? quote(manager) : `${quote(manager)} with subresource ${quote(subresource)}`;
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
