import type { JsonObject } from '../../../apimachinery/json/json.js';
import { type Convert, type Notes, type Row } from '../conversion.js';
import { isEmpty, isUnset, objectIn, objectsIn, take, textIn } from '../fields.js';

const HOSTNAME = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

const endpointSlice: Convert = (object, notes) => {
  for (const [endpoint, path] of objectsIn(object, 'endpoints', '')) convertEndpoint(endpoint, path, notes);
};

function convertEndpoint(endpoint: JsonObject, path: string, notes: Notes): void {
  const topology = objectIn(endpoint, 'topology', path);
  take(endpoint, 'topology');
  if (topology === undefined) return;
  const at = `${path}.topology`;
  moved(topology, HOSTNAME, endpoint, 'nodeName', at);
  moved(topology, ZONE, endpoint, 'zone', at);
  if (isEmpty(topology)) return;
  endpoint['deprecatedTopology'] = topology;
  const keys = Object.keys(topology).join(', ');
  notes.warn(`${at}: ${keys} became deprecatedTopology, which discovery.k8s.io/v1 does not accept from clients`);
}

/** Moves a topology label to its own field, unless that has another value. */
function moved(topology: JsonObject, label: string, endpoint: JsonObject, field: string, path: string): void {
  const value = textIn(topology, label, path);
  if (isUnset(value)) return;
  if (isEmpty(endpoint[field])) endpoint[field] = value;
  if (endpoint[field] === value) take(topology, label);
}

export const discovery: readonly Row[] = [
  {
    from: ['discovery.k8s.io/v1beta1'],
    kinds: ['EndpointSlice'],
    to: 'discovery.k8s.io/v1',
    convert: endpointSlice,
  },
];
