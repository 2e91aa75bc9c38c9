import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { RequestScope } from '../scope.js';
import { Query } from './query.js';
import { dryRunValues } from './write-options.js';

const META = 'meta.k8s.io/v1';

/** Returns the options of a create or an update for admission, with the values that the client set. */
export function admissionOptions(
  { request }: Pick<RequestScope, 'request'>,
  operation: 'CREATE' | 'UPDATE',
): JsonObject {
  const url = request.url ?? '';
  const kind = operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions';
  const options: JsonObject = { kind, apiVersion: META };
  if (!url.includes('?')) return options;
  const query = new Query(url);
  const dryRun = dryRunValues(query);
  if (dryRun.length > 0) options['dryRun'] = [...dryRun];
  for (const field of ['fieldManager', 'fieldValidation']) {
    const value = query.string(field);
    if (value !== '') options[field] = value;
  }
  return options;
}
