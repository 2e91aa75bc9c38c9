import {
  duplicate,
  FieldError,
  FieldPath,
  invalid,
  notSupported,
  Printed,
  required,
} from '../../../apimachinery/field-error.js';
import { deepEqual, type JsonObject, type JsonValue, objectAt } from '../../../apimachinery/json.js';
import { goJson, type KubeObject } from '../../../apimachinery/meta.js';
import {
  inclusiveRangeError,
  isDns1123Label,
  isDns1123Subdomain,
  isPortName,
  nameIsDnsLabel,
} from '../../../apimachinery/validation/names.js';
import { validateLabels } from '../../../apimachinery/validation/object-meta.js';
import type { Strategy } from '../../rest/interfaces.js';
import { ipErrors, PROTOCOLS } from '../endpoints/strategy.js';
import { keepField, numberOf, objectsOf, textOf, textsOf } from '../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../shared/meta.js';
import { resets } from '../shared/resource-type.js';
import { setIpFamilies, syncClusterIPs } from './defaults.js';

const SPEC = FieldPath.of('spec');
const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const AFFINITIES = ['ClientIP', 'None'];

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65535;

function targetErrors(target: JsonValue | undefined, path: FieldPath): FieldError[] {
  if (typeof target === 'string') return isPortName(target).map((text) => invalid(path, target, text));
  const port = numberOf(target);
  return isPort(port) ? [] : [invalid(path, port, inclusiveRangeError(1, 65535))];
}

function portErrors(port: JsonObject, needsName: boolean, path: FieldPath, names: Set<string>): FieldError[] {
  const errors: FieldError[] = [];
  const name = textOf(port['name']);
  if (needsName && name === '') errors.push(required(path.child('name')));
  else if (name !== '') {
    errors.push(...isDns1123Label(name).map((text) => invalid(path.child('name'), name, text)));
    if (names.has(name)) errors.push(duplicate(path.child('name'), name));
    names.add(name);
  }
  const number = numberOf(port['port']);
  if (!isPort(number)) errors.push(invalid(path.child('port'), number, inclusiveRangeError(1, 65535)));
  const protocol = textOf(port['protocol']);
  if (protocol === '') errors.push(required(path.child('protocol')));
  else if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(path.child('protocol'), protocol, PROTOCOLS));
  errors.push(...targetErrors(port['targetPort'], path.child('targetPort')));
  return errors;
}

/** Printed with the names of the Go fields, of which only the two that clash are set. */
function duplicatePort(path: FieldPath, port: JsonObject): FieldError {
  const [protocol, number] = [goJson(port['protocol'] ?? ''), goJson(port['port'] ?? 0)];
  const text = `{"Name":"","Protocol":${protocol},"AppProtocol":null,"Port":${number},"TargetPort":0,"NodePort":0}`;
  return new FieldError('FieldValueDuplicate', path.toString(), new Printed(text), '');
}

function portsErrors(spec: JsonObject, headless: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const ports = objectsOf(spec['ports']);
  const path = SPEC.child('ports');
  if (ports.length === 0 && !headless && spec['type'] !== 'ExternalName') errors.push(required(path));
  const names = new Set<string>();
  const seen = new Set<string>();
  ports.forEach((port, i) => {
    errors.push(...portErrors(port, ports.length > 1, path.index(i), names));
    const key = `${textOf(port['protocol'])}/${String(numberOf(port['port']))}`;
    if (seen.has(key)) {
      errors.push(duplicatePort(path.index(i), port));
    }
    seen.add(key);
  });
  return errors;
}

function externalNameErrors(spec: JsonObject): FieldError[] {
  const path = SPEC.child('externalName');
  const given = textOf(spec['externalName']);
  const name = given.endsWith('.') ? given.slice(0, -1) : given;
  if (name === '') return [required(path)];
  return isDns1123Subdomain(name).map((text) => invalid(path, name, text));
}

function validate(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const spec = objectAt(object, 'spec') ?? {};
  const type = textOf(spec['type']);
  const headless = textOf(spec['clusterIP']) === 'None';
  errors.push(...portsErrors(spec, headless));
  if (type === 'ExternalName') errors.push(...externalNameErrors(spec));
  const selector = objectAt(spec, 'selector');
  if (selector !== undefined)
    errors.push(...validateLabels(selector as Record<string, string>, SPEC.child('selector')));
  const affinity = textOf(spec['sessionAffinity']);
  const affinityPath = SPEC.child('sessionAffinity');
  if (affinity === '') errors.push(required(affinityPath));
  else if (!AFFINITIES.includes(affinity)) errors.push(notSupported(affinityPath, affinity, AFFINITIES));
  textsOf(spec['clusterIPs']).forEach((ip, i) => {
    if (ip !== 'None') errors.push(...ipErrors(ip, SPEC.child('clusterIPs').index(i)));
  });
  textsOf(spec['externalIPs']).forEach((ip, i) => errors.push(...ipErrors(ip, SPEC.child('externalIPs').index(i))));
  if (type === '') errors.push(required(SPEC.child('type')));
  else if (!TYPES.includes(type)) errors.push(notSupported(SPEC.child('type'), type, TYPES));
  return errors;
}

/** An address once given stays, unless the service becomes an external name. */
function updateErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const errors = validateCoreMetaUpdate(object.metadata, old.metadata);
  const spec = objectAt(object, 'spec') ?? {};
  const before = objectAt(old, 'spec') ?? {};
  const fixed =
    spec['type'] !== 'ExternalName' && before['type'] !== 'ExternalName' && textsOf(before['clusterIPs']).length > 0;
  if (fixed && !deepEqual(spec['clusterIPs'] ?? [], before['clusterIPs'] ?? [])) {
    const path = SPEC.child('clusterIPs').index(0);
    const first = textsOf(spec['clusterIPs'])[0];
    errors.push(invalid(path, first ?? null, 'may not change once set'));
  }
  return errors;
}

function warnings(object: KubeObject): string[] {
  const spec = objectAt(object, 'spec');
  const ignored = spec?.['clusterIP'] === 'None' && spec['sessionAffinity'] !== 'None';
  return ignored ? ['spec.SessionAffinity is ignored for headless services'] : [];
}

export const serviceStrategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (_context, object) => {
    object['status'] = { loadBalancer: {} };
    syncClusterIPs(object);
    setIpFamilies(object);
  },
  prepareForUpdate: (_context, object, old) => {
    keepField('status', object, old);
    const spec = objectAt(object, 'spec');
    const before = objectAt(old, 'spec');
    // A client that leaves the address out means the one that the service has.
    if (spec !== undefined && textOf(spec['clusterIP']) === '' && spec['type'] !== 'ExternalName') {
      for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'])
        if (before?.[field] !== undefined) spec[field] ??= before[field];
    }
    syncClusterIPs(object);
    setIpFamilies(object);
  },
  warningsOnCreate: (_context, object) => warnings(object),
  warningsOnUpdate: (_context, object) => warnings(object),
  validateCreate: (_context, object) => [
    ...validateCoreMeta(object.metadata, true, nameIsDnsLabel),
    ...validate(object),
  ],
  validateUpdate: (_context, object, old) => [...updateErrors(object, old), ...validate(object)],
};

export const serviceStatusStrategy: Strategy = {
  ...serviceStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (_context, object, old) => {
    keepField('spec', object, old);
  },
  validateUpdate: (_context, object, old) => validateCoreMetaUpdate(object.metadata, old.metadata),
};
