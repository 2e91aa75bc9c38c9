import { isIP } from 'node:net';
import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { deepEqual, type JsonObject, textAt } from '../../../../apimachinery/json/json.js';
import { objectsOf } from '../../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { labelErrors, subdomainErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { appProtocolErrors, choice, ipErrors, portNumberErrors, PROTOCOLS } from '../../shared/checks.js';
import { numberOf, setDefault } from '../../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';

function endpointErrors(address: JsonObject, path: FieldPath): FieldError[] {
  const ip = textAt(address, 'ip');
  const errors = ipErrors(ip, path.child('ip'));
  const hostname = textAt(address, 'hostname');
  if (hostname !== '') {
    errors.push(...labelErrors(hostname, path.child('hostname')));
  }
  const node = address['nodeName'];
  if (typeof node === 'string') {
    errors.push(...subdomainErrors(node, path.child('nodeName')));
  }
  errors.push(...nonSpecialErrors(ip, path.child('ip')));
  return errors;
}

/** Rejects addresses that no service may forward to. */
function nonSpecialErrors(ip: string, path: FieldPath): FieldError[] {
  const refuse = (text: string): FieldError[] => [invalid(path, ip, text)];
  if (isIP(ip) === 0) return refuse('must be a valid IP address');
  if (ip === '0.0.0.0' || ip === '::') return refuse(`may not be unspecified (${ip})`);
  if (ip.startsWith('127.') || ip === '::1') return refuse('may not be in the loopback range (127.0.0.0/8, ::1/128)');
  if (ip.startsWith('169.254.') || /^fe[89ab]/i.test(ip)) {
    return refuse('may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  }
  if (/^224\.0\.0\./.test(ip) || /^ff02:/i.test(ip)) {
    return refuse('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
  }
  return [];
}

function portErrors(port: JsonObject, needsName: boolean, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const name = textAt(port, 'name');
  if (name === '' && needsName) errors.push(required(path.child('name')));
  if (name !== '') errors.push(...labelErrors(name, path.child('name')));
  return [
    ...errors,
    ...portNumberErrors(numberOf(port['port']), path.child('port')),
    ...choice(textAt(port, 'protocol'), path.child('protocol'), PROTOCOLS),
    ...appProtocolErrors(port, path),
  ];
}

function subsetErrors(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  objectsOf(object['subsets']).forEach((subset, i) => {
    const path = FieldPath.of('subsets').index(i);
    const ready = objectsOf(subset['addresses']);
    const others = objectsOf(subset['notReadyAddresses']);
    if (ready.length + others.length === 0) {
      errors.push(required(path, 'must specify `addresses` or `notReadyAddresses`'));
    }
    ready.forEach((address, j) => errors.push(...endpointErrors(address, path.child('addresses').index(j))));
    others.forEach((address, j) => errors.push(...endpointErrors(address, path.child('notReadyAddresses').index(j))));
    const ports = objectsOf(subset['ports']);
    ports.forEach((port, j) => errors.push(...portErrors(port, ports.length > 1, path.child('ports').index(j))));
  });
  return errors;
}

function validate(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const errors = validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain);
  if (old !== undefined && deepEqual(object['subsets'] ?? [], old['subsets'] ?? [])) return errors;
  return [...errors, ...subsetErrors(object)];
}

export function applyEndpointsDefaults(object: KubeObject): void {
  for (const subset of objectsOf(object['subsets'])) {
    for (const port of objectsOf(subset['ports'])) setDefault(port, 'protocol', 'TCP');
  }
}

export const endpointsStrategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validateCreate: (_context, object) => validate(object, undefined),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...validate(object, old),
  ],
};
