import { isObject, type JsonObject } from '../../../apimachinery/json/json.js';
import { type Convert, type Notes, Refusal, type Row } from '../conversion.js';
import { isUnset, dropOtherFields, makeExplicit, objectIn, objectsIn, take, textIn } from '../fields.js';

const EXTENSIONS = 'extensions/v1beta1';
const V1BETA1 = 'networking.k8s.io/v1beta1';
const V1 = 'networking.k8s.io/v1';

const MAX_PORT = 65535;

const ingress: Convert = (object, notes) => {
  const spec = objectIn(object, 'spec', '');
  if (spec === undefined) return;
  if (isUnset(spec['backend'])) take(spec, 'backend');
  else {
    if (!isUnset(spec['defaultBackend'])) throw new Refusal('spec.backend and spec.defaultBackend are both given');
    backend(spec, 'backend', 'spec', notes);
    spec['defaultBackend'] = take(spec, 'backend');
  }
  for (const [rule, path] of objectsIn(spec, 'rules', 'spec')) {
    const http = objectIn(rule, 'http', path);
    if (http === undefined) continue;
    for (const [entry, at] of objectsIn(http, 'paths', `${path}.http`)) {
      makeExplicit(entry, 'pathType', 'ImplementationSpecific');
      if (isUnset(entry['backend'])) throw new Refusal(`${at}.backend is missing`);
      backend(entry, 'backend', at, notes);
    }
  }
};

function backend(parent: JsonObject, key: string, path: string, notes: Notes): void {
  const at = `${path}.${key}`;
  const old = objectIn(parent, key, path) ?? {};
  dropOtherFields(old, ['serviceName', 'servicePort', 'resource'], at, V1, notes);
  const name = textIn(old, 'serviceName', at);
  const port = old['servicePort'];
  const made: JsonObject = {};
  // Zero and the empty string mean that the field was not set.
  const hasPort = !isUnset(port) && port !== 0 && port !== '';
  if (name !== undefined || hasPort) {
    if (name === undefined) throw new Refusal(`${at}.serviceName is missing`);
    if (!hasPort) throw new Refusal(`${at}.servicePort is missing`);
    made['service'] = { name, port: portOf(port, `${at}.servicePort`, notes) };
  }
  if (isObject(old['resource'])) made['resource'] = old['resource'];
  else if (!isUnset(old['resource'])) throw new Refusal(`${at}.resource must be an object`);
  if (made['service'] === undefined && made['resource'] === undefined)
    throw new Refusal(`${at} has neither a serviceName nor a resource`);
  parent[key] = made;
}

function portOf(port: unknown, path: string, notes: Notes): JsonObject {
  if (typeof port === 'number') return { number: port };
  if (typeof port !== 'string') throw new Refusal(`${path} must be a number or the name of a port`);
  if (!/^\d+$/.test(port)) return { name: port };
  // It is not valid as a name in any version: names contain a letter.
  const number = Number(port);
  if (number < 1 || number > MAX_PORT) throw new Refusal(`${path} is not a port: ${port}`);
  notes.warn(`${path} is the string "${port}", which is not a valid port name: converted to a number`);
  return { number };
}

export const networking: readonly Row[] = [
  { from: [EXTENSIONS, V1BETA1], kinds: ['Ingress'], to: V1, convert: ingress },
  { from: [EXTENSIONS], kinds: ['NetworkPolicy'], to: V1 },
  { from: [V1BETA1], kinds: ['IngressClass', 'IPAddress', 'ServiceCIDR'], to: V1 },
];
