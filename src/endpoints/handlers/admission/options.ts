import type { JsonObject } from '../../../apimachinery/json/json.js';
import { dryRunValues } from '../request/write-options.js';
import { Query } from '../request/query.js';
import type { RequestScope } from '../../router/scope.js';

const META = 'meta.k8s.io/v1';

/** Returns the options of a write for admission: of the kind that fits the operation, with the values that the client set. */
export function admissionOptions(
  { request }: Pick<RequestScope, 'request'>,
  kind: 'CreateOptions' | 'UpdateOptions',
): JsonObject {
  const url = request.url ?? '';
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
