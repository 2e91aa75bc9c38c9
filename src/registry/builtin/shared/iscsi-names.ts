import { type FieldError, type FieldPath, invalid } from '../../../apimachinery/meta/field-error.js';
import { type JsonObject, textAt } from '../../../apimachinery/json/json.js';
import { patternFor } from '@annex/cel/re2';

/** The forms by the first three characters of a name. Only `iqn` may follow other characters; its search must not take quadratic time. */
const NAME_FORMS: Readonly<Record<string, string>> = {
  iqn: 'iqn\\.\\d{4}-\\d{2}\\.([[:alnum:]\\-.]+)(:[^,;*&$|\\s]+)$',
  eui: '^eui.[[:alnum:]]{16}$',
  naa: '^naa.[[:alnum:]]{32}$',
};

const WRONG = 'must be valid format';

export const LONG_PORTAL =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

/** Reports whether the names of a volume with an initiator and of its portal are too long together. */
export const hasLongPortal = (source: JsonObject, volume: string): boolean =>
  typeof source['initiatorName'] === 'string' && Buffer.byteLength(`${volume}:${textAt(source, 'targetPortal')}`) > 64;

/** Validates the name of an iSCSI target or initiator. `unknown` is the error for a name with an unknown prefix. */
export function iscsiNameErrors(name: string, path: FieldPath, unknown = WRONG): FieldError[] {
  const form = NAME_FORMS[name.slice(0, 3)];
  if (form === undefined) return [invalid(path, name, unknown)];
  return patternFor(form).matches(name) ? [] : [invalid(path, name, WRONG)];
}
