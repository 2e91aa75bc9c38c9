import type { Service } from '../../../../apimachinery/generated/core.js';
import { type JsonObject, objectAt, objectsOf, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { ensureObject, setDefault } from '../../shared/fields.js';
import { externallyAccessible } from './traffic.js';

const AFFINITY_SECONDS = 10800;

function affinity(spec: JsonObject): void {
  setDefault(spec, 'sessionAffinity', 'None');
  if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig'];
  if (spec['sessionAffinity'] !== 'ClientIP') return;
  const client = objectAt(objectAt(spec, 'sessionAffinityConfig'), 'clientIP');
  if (client?.['timeoutSeconds'] === undefined) {
    spec['sessionAffinityConfig'] = { clientIP: { timeoutSeconds: AFFINITY_SECONDS } };
  }
}

function ports(spec: JsonObject): void {
  for (const port of objectsOf(spec['ports'])) {
    setDefault(port, 'protocol', 'TCP');
    const target = port['targetPort'];
    if (target === undefined || target === 0 || target === '') port['targetPort'] = port['port'] ?? 0;
  }
}

export function applyServiceDefaults(object: Service): void {
  const spec = ensureObject(object, 'spec');
  affinity(spec);
  setDefault(spec, 'type', 'ClusterIP');
  ports(spec);
  const type = textAt(spec, 'type');
  if (externallyAccessible(spec)) setDefault(spec, 'externalTrafficPolicy', 'Cluster');
  if (['NodePort', 'LoadBalancer', 'ClusterIP'].includes(type)) spec['internalTrafficPolicy'] ??= 'Cluster';
  if (type === 'LoadBalancer') {
    spec['allocateLoadBalancerNodePorts'] ??= true;
    for (const ingress of objectsOf(objectAt(objectAt(object, 'status'), 'loadBalancer')?.['ingress'])) {
      if (textAt(ingress, 'ip') !== '') ingress['ipMode'] ??= 'VIP';
    }
  }
  ensureObject(ensureObject(object, 'status'), 'loadBalancer');
}
