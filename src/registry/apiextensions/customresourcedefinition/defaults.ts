import { type JsonObject, objectAt, stringAt, textAt } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { objectsAt, stringsAt } from './internal.js';
import { clientConfigOf } from './interfaces.js';
import { ensureObject } from '../../builtin/shared/fields.js';

/** Sets the defaults of a definition in place: names derived from the kind, no conversion, the first stored version. */
export function setCustomResourceDefinitionDefaults(crd: KubeObject): void {
  const spec = ensureObject(crd, 'spec');
  const names = ensureObject(spec, 'names');
  const kind = textAt(names, 'kind');
  if (textAt(names, 'singular') === '' && kind !== '') names['singular'] = kind.toLowerCase();
  if (textAt(names, 'listKind') === '' && kind !== '') names['listKind'] = `${kind}List`;
  const conversion = (spec['conversion'] = objectAt(spec, 'conversion') ?? { strategy: 'None' });
  const service = objectAt(clientConfigOf(conversion), 'service');
  if (service !== undefined) service['port'] ??= 443;
  if ((objectAt(conversion, 'webhook')?.['conversionReviewVersions'] ?? null) === null) dropEmptyWebhook(conversion);
  if (spec['preserveUnknownFields'] === false) delete spec['preserveUnknownFields'];
  const status = (crd['status'] = statusOf(crd));
  if (stringsAt(status, 'storedVersions').length > 0) return;
  const storage = storageVersionOf(spec);
  status['storedVersions'] = storage === undefined ? null : [storage];
}

/** Brings a definition into its stored form, in which an empty list of review versions counts as missing. */
export function setStoredForm(crd: KubeObject): void {
  setCustomResourceDefinitionDefaults(crd);
  dropEmptyWebhook(objectAt(objectAt(crd, 'spec'), 'conversion'));
}

/** Drops a webhook without any settings. */
function dropEmptyWebhook(conversion: JsonObject | undefined): void {
  const webhook = objectAt(conversion, 'webhook');
  if (conversion === undefined || webhook === undefined || objectAt(webhook, 'clientConfig') !== undefined) return;
  if (stringsAt(webhook, 'conversionReviewVersions').length === 0) delete conversion['webhook'];
}

/** Returns the status with the fields that are always present. */
function statusOf(crd: KubeObject): JsonObject {
  const status = objectAt(crd, 'status') ?? {};
  return {
    ...status,
    conditions: status['conditions'] ?? null,
    acceptedNames: objectAt(status, 'acceptedNames') ?? { plural: '', kind: '' },
    storedVersions: status['storedVersions'] ?? null,
  };
}

export function storageVersionOf(spec: JsonObject | undefined): string | undefined {
  return stringAt(
    objectsAt(spec, 'versions').find((version) => version['storage'] === true),
    'name',
  );
}
