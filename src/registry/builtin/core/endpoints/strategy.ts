import { isIP } from 'node:net';
import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import type * as core from '../../../../apimachinery/generated/core.js';
import { deepEqual } from '../../../../apimachinery/json/json.js';
import { labelErrors, subdomainErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { Strategy } from '../../../rest/interfaces.js';
import {
  appProtocolErrors,
  choice,
  eachErrors,
  ipErrors,
  itemErrors,
  portNumberErrors,
  PROTOCOLS,
} from '../../shared/checks.js';
import { numberOf } from '../../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';

function endpointErrors(address: core.EndpointAddress, path: FieldPath): FieldError[] {
  const ip = address.ip ?? '';
  const hostname = address.hostname ?? '';
  const node = address.nodeName;
  return [
    ...ipErrors(ip, path.child('ip')),
    ...(hostname === '' ? [] : labelErrors(hostname, path.child('hostname'))),
    ...(typeof node === 'string' ? subdomainErrors(node, path.child('nodeName')) : []),
    ...nonSpecialErrors(ip, path.child('ip')),
  ];
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

function portErrors(port: core.EndpointPort, needsName: boolean, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const name = port.name ?? '';
  if (name === '' && needsName) errors.push(required(path.child('name')));
  if (name !== '') errors.push(...labelErrors(name, path.child('name')));
  return [
    ...errors,
    ...portNumberErrors(numberOf(port.port), path.child('port')),
    ...choice(port.protocol ?? '', path.child('protocol'), PROTOCOLS),
    ...appProtocolErrors(port, path),
  ];
}

function subsetErrors(subset: core.EndpointSubset, path: FieldPath): FieldError[] {
  const isEmpty = (subset.addresses ?? []).length + (subset.notReadyAddresses ?? []).length === 0;
  const needsNames = (subset.ports ?? []).length > 1;
  return [
    ...(isEmpty ? [required(path, 'must specify `addresses` or `notReadyAddresses`')] : []),
    ...itemErrors(subset, 'addresses', path, endpointErrors),
    ...itemErrors(subset, 'notReadyAddresses', path, endpointErrors),
    ...itemErrors(subset, 'ports', path, (port, at) => portErrors(port, needsNames, at)),
  ];
}

function validate(object: core.Endpoints, old: core.Endpoints | undefined): FieldError[] {
  const errors = validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain);
  if (old !== undefined && deepEqual(object.subsets ?? [], old.subsets ?? [])) return errors;
  return [...errors, ...eachErrors(object.subsets, FieldPath.of('subsets'), subsetErrors)];
}

export function applyEndpointsDefaults(object: core.Endpoints): void {
  for (const subset of object.subsets ?? []) {
    for (const port of subset.ports ?? []) port.protocol ||= 'TCP';
  }
}

export const endpointsStrategy: Strategy<core.Endpoints> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validateCreate: (_context, object) => validate(object, undefined),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...validate(object, old),
  ],
};
