import { type FieldError, type FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../apimachinery/json/json.js';
import { textOf } from '../../../../apimachinery/json/values.js';
import { numberOf } from '../../shared/fields.js';
import { iscsiNameErrors } from '../../shared/iscsi-names.js';
import { lunErrors } from '../../shared/volume-sources.js';

/** Validates an iSCSI volume. `volume` is the name of the persistent volume. */
export function iscsiErrors(source: JsonObject, path: FieldPath, volume: string): FieldError[] {
  const errors: FieldError[] = [];
  const portal = textOf(source['targetPortal']);
  if (portal === '') errors.push(required(path.child('targetPortal')));
  const initiator = source['initiatorName'];
  if (typeof initiator === 'string' && Buffer.byteLength(`${volume}:${portal}`) > 64) {
    const why =
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
    errors.push(invalid(path.child('targetportal'), portal, why));
  }
  const name = textOf(source['iqn']);
  if (name === '') errors.push(required(path.child('iqn')));
  else errors.push(...iscsiNameErrors(name, path.child('iqn')));
  errors.push(...lunErrors(numberOf(source['lun']), path));
  const secret = objectAt(source, 'secretRef');
  const chap = source['chapAuthDiscovery'] === true || source['chapAuthSession'] === true;
  if (chap && secret === undefined) errors.push(required(path.child('secretRef')));
  if (secret !== undefined && textOf(secret['name']) === '') errors.push(required(path.child('secretRef', 'name')));
  if (typeof initiator === 'string') errors.push(...iscsiNameErrors(initiator, path.child('initiatorname')));
  return errors;
}
