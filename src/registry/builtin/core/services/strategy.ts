import {
  duplicate,
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  Printed,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import type * as core from '../../../../apimachinery/generated/core.js';
import { newInvalid } from '../../../../apimachinery/meta/errors.js';
import { goJson } from '../../../../apimachinery/meta/meta.js';
import { labelErrors, subdomainErrors, toFieldErrors } from '../../../../apimachinery/validation/name-errors.js';
import { isDns1123Subdomain, nameIsDnsLabel } from '../../../../apimachinery/validation/names.js';
import { validateLabels } from '../../../../apimachinery/validation/object-meta.js';
import type { Strategy } from '../../../rest/interfaces.js';
import {
  appProtocolErrors,
  choice,
  choiceIfSet,
  eachErrors,
  ipErrors,
  itemErrors,
  noDuplicates,
  portErrors as portNumberOrNameErrors,
  portNumberErrors,
  PROTOCOLS,
  requiredOr,
  type TextCheck,
} from '../../shared/checks.js';
import { keepField, numberOf } from '../../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';
import { resets } from '../../shared/resource-type.js';
import { addressErrors, changedAddressErrors, dropAddresses, fillFamilies, followClusterIP } from './families.js';
import { cidrErrors, isAddress } from '../../../../apimachinery/validation/addresses.js';
import { affinityErrors, changedTrafficErrors, dropTraffic, nodePortErrors, trafficErrors } from './traffic.js';
import { serviceStatusWarnings, serviceWarnings } from './warnings.js';

const SPEC = FieldPath.of('spec');
const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const AFFINITIES = ['ClientIP', 'None'];

function portErrors(port: core.ServicePort, needsName: boolean, path: FieldPath, again: TextCheck): FieldError[] {
  const name = port.name ?? '';
  const at = path.child('name');
  return [
    ...(needsName && name === '' ? [required(at)] : []),
    ...(name === '' ? [] : [...labelErrors(name, at), ...again(name, at)]),
    ...portNumberErrors(numberOf(port.port), path.child('port')),
    ...choice(port.protocol ?? '', path.child('protocol'), PROTOCOLS),
    ...portNumberOrNameErrors(port.targetPort, path.child('targetPort')),
    ...appProtocolErrors(port, path),
  ];
}

/** Returns the error for a duplicate port, printed with the names of the Go fields, of which only the two that clash are set. */
function duplicatePort(path: FieldPath, port: core.ServicePort): FieldError {
  const [protocol, number] = [goJson(port.protocol ?? ''), goJson(port.port ?? 0)];
  const text = `{"Name":"","Protocol":${protocol},"AppProtocol":null,"Port":${number},"TargetPort":0,"NodePort":0}`;
  return duplicate(path, new Printed(text));
}

/** Rejects the fields that a service of its type cannot have. */
function typeErrors(spec: core.ServiceSpec, headless: boolean): FieldError[] {
  const type = spec.type ?? '';
  if (headless && (type === 'LoadBalancer' || type === 'NodePort')) {
    return [invalid(SPEC.child('clusterIPs').index(0), 'None', `may not be set to 'None' for ${type} services`)];
  }
  if (type !== 'ExternalName') return [];
  const set: string[] = (['clusterIPs', 'ipFamilies'] as const).filter((field) => (spec[field] ?? []).length > 0);
  if (spec.ipFamilyPolicy) set.push('ipFamilyPolicy');
  const errors = set.map((field) => forbidden(SPEC.child(field), 'may not be set for ExternalName services'));
  return [...errors, ...externalNameErrors(spec)];
}

function portsErrors(spec: core.ServiceSpec, headless: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const ports = spec.ports ?? [];
  const path = SPEC.child('ports');
  if (ports.length === 0 && !headless && spec.type !== 'ExternalName') errors.push(required(path));
  errors.push(...typeErrors(spec, headless));
  const again = noDuplicates();
  return [...errors, ...eachErrors(ports, path, (port, at) => portErrors(port, ports.length > 1, at, again))];
}

function samePorts(spec: core.ServiceSpec): FieldError[] {
  const seen = new Set<string>();
  return itemErrors(spec, 'ports', SPEC, (port, path) => {
    const key = `${port.protocol ?? ''}/${String(numberOf(port.port))}`;
    if (seen.has(key)) return [duplicatePort(path, port)];
    seen.add(key);
    return [];
  });
}

const externalNameErrors = (spec: core.ServiceSpec): FieldError[] =>
  requiredOr((spec.externalName ?? '').replace(/\.$/, ''), SPEC.child('externalName'), subdomainErrors);

function validate(object: core.Service, old?: core.Service): FieldError[] {
  const errors: FieldError[] = [];
  const spec: core.ServiceSpec = object.spec ?? {};
  const headless = (spec.clusterIPs ?? [])[0] === 'None';
  errors.push(...portsErrors(spec, headless));
  const selector = spec.selector;
  if (selector !== undefined) errors.push(...validateLabels(selector, SPEC.child('selector')));
  errors.push(...choice(spec.sessionAffinity ?? '', SPEC.child('sessionAffinity'), AFFINITIES));
  errors.push(...affinityErrors(spec));
  const before = old?.spec;
  const known = new Set(before?.externalIPs ?? []);
  return [
    ...errors,
    ...addressErrors(spec, before),
    ...eachErrors(spec.externalIPs, SPEC.child('externalIPs'), (ip, path) => (known.has(ip) ? [] : ipErrors(ip, path))),
    ...choice(spec.type ?? '', SPEC.child('type'), TYPES),
    ...nodePortErrors(spec),
    ...samePorts(spec),
    ...sourceRangeErrors(spec, before),
    ...trafficErrors(spec),
  ];
}

const rangeErrors = toFieldErrors(cidrErrors);

/** Reports errors under the name of the Go field, as kube-apiserver does. */
function sourceRangeErrors(spec: core.ServiceSpec, before: core.ServiceSpec | undefined): FieldError[] {
  const ranges = (spec.loadBalancerSourceRanges ?? []).map((text) => text.trim());
  if (ranges.length === 0) return [];
  const path = SPEC.child('LoadBalancerSourceRanges');
  const errors: FieldError[] = [];
  if (spec.type !== 'LoadBalancer') errors.push(forbidden(path, "may only be used when `type` is 'LoadBalancer'"));
  const known = new Set((before?.loadBalancerSourceRanges ?? []).map((text) => text.trim()));
  return [...errors, ...eachErrors(ranges, path, (text, at) => (known.has(text) ? [] : rangeErrors(text, at)))];
}

const ingressOf = (object: core.Service): core.LoadBalancerIngress[] => object.status?.loadBalancer?.ingress ?? [];

function statusErrors(object: core.Service, old: core.Service): FieldError[] {
  const ingress = ingressOf(object);
  const path = FieldPath.of('status', 'loadBalancer', 'ingress');
  if (ingress.length > 0 && object.spec?.type !== 'LoadBalancer')
    return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  const known = new Set(ingressOf(old).map((entry) => entry.ip ?? ''));
  return eachErrors(ingress, path, (entry, at) => ingressErrors(entry, at, known));
}

const IP_MODES = ['Proxy', 'VIP'];

function ingressErrors(entry: core.LoadBalancerIngress, path: FieldPath, known: ReadonlySet<string>): FieldError[] {
  const errors: FieldError[] = [];
  const [ip, hostname] = [entry.ip ?? '', entry.hostname ?? ''];
  const mode = entry.ipMode;
  if (ip !== '' && !known.has(ip)) errors.push(...ipErrors(ip, path.child('ip')));
  if (typeof mode === 'string') {
    if (ip === '') errors.push(forbidden(path.child('ipMode'), 'may not be specified when `ip` is not set'));
    else errors.push(...choiceIfSet(mode, path.child('ipMode'), IP_MODES));
  }
  if (hostname === '') return errors;
  const wrong = isDns1123Subdomain(hostname);
  if (isAddress(hostname)) wrong.push('must be a DNS name, not an IP address');
  return [...errors, ...wrong.map((why) => invalid(path.child('hostname'), hostname, why))];
}

function updateErrors(object: core.Service, old: core.Service): FieldError[] {
  const errors = validateCoreMetaUpdate(object.metadata, old.metadata);
  const [spec, before] = [object.spec ?? {}, old.spec ?? {}];
  return [...errors, ...changedAddressErrors(spec, before), ...changedTrafficErrors(spec, before)];
}

/** Sets the cluster IPs and IP families. Their errors are reported first, and without any others. */
function allocate(object: core.Service, old: core.Service | undefined): void {
  const spec = object.spec;
  const before = old === undefined ? undefined : (old.spec ?? {});
  if (spec === undefined) return;
  // The field has no meaning for an ExternalName.
  if (spec.type === 'ExternalName') delete spec.internalTrafficPolicy;
  followClusterIP(spec, before);
  const errors = fillFamilies(object, before);
  if (errors.length > 0) throw newInvalid({ group: '', kind: 'Service' }, object.metadata.name ?? '', errors);
  if (before === undefined) return;
  dropAddresses(spec, before);
  dropTraffic(spec, before);
  if (spec.type !== 'LoadBalancer') object.status = { ...object.status, loadBalancer: {} };
}

export const serviceStrategy: Strategy<core.Service> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (_context, object) => {
    object.status = { loadBalancer: {} };
    allocate(object, undefined);
  },
  prepareForUpdate: (_context, object, old) => {
    keepField('status', object, old);
    allocate(object, old);
  },
  warningsOnCreate: (_context, object) => serviceWarnings(object),
  warningsOnUpdate: (_context, object) => serviceWarnings(object),
  validateCreate: (_context, object) => [
    ...validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsLabel),
    ...validate(object),
  ],
  validateUpdate: (_context, object, old) => [...updateErrors(object, old), ...validate(object, old)],
};

export const serviceStatusStrategy: Strategy<core.Service> = {
  ...serviceStrategy,
  resetFields: resets(['spec']),
  // An apply to the status may create the service, for which no addresses are allocated.
  prepareForCreate: (_context, object) => {
    object.status = { loadBalancer: {} };
  },
  warningsOnUpdate: (_context, object) => serviceStatusWarnings(object),
  prepareForUpdate: (_context, object, old) => keepField('spec', object, old),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...statusErrors(object, old),
  ],
};
