import { objectAt, textAt } from '../../apimachinery/json/json.js';
import type { AdmissionPlugin } from '../interfaces.js';
import type { ObjectReader } from '../object-reader.js';
import { isAboutCore, isCore } from './core-resources.js';

const LABELS = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

/** Copies the zone and region labels of the node to pods that are created with a node name. */
export function podTopologyLabels(nodes: ObjectReader): AdmissionPlugin {
  return {
    name: 'PodTopologyLabels',
    handles: (operation) => operation === 'CREATE',
    readsObjects: (resource) => isCore(resource, 'pods'),
    admit(attributes) {
      const { object } = attributes;
      if (!isAboutCore(attributes, 'pods')) return;
      const node = textAt(objectAt(object, 'spec'), 'nodeName');
      if (object === undefined || node === '') return;
      const labels = Object.entries(nodes.cached('', node)?.metadata.labels ?? {});
      const found = labels.filter(([key]) => LABELS.includes(key));
      if (found.length > 0) object.metadata.labels = { ...object.metadata.labels, ...Object.fromEntries(found) };
    },
  };
}
