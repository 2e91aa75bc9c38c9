import type { Service, ServiceSpec } from '../../../../apimachinery/generated/core.js';
import { ensureObject } from '../../shared/fields.js';
import { externallyAccessible } from './traffic.js';

const AFFINITY_SECONDS = 10800;

function affinity(spec: ServiceSpec): void {
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity !== 'ClientIP') return;
  const client = spec.sessionAffinityConfig?.clientIP;
  if (client?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: AFFINITY_SECONDS } };
  }
}

function ports(spec: ServiceSpec): void {
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    const target = port.targetPort;
    if (target === undefined || target === 0 || target === '') port.targetPort = port.port ?? 0;
  }
}

export function applyServiceDefaults(object: Service): void {
  const spec = ensureObject(object, 'spec');
  affinity(spec);
  spec.type ||= 'ClusterIP';
  ports(spec);
  const type = spec.type ?? '';
  if (externallyAccessible(spec)) spec.externalTrafficPolicy ||= 'Cluster';
  if (['NodePort', 'LoadBalancer', 'ClusterIP'].includes(type)) spec.internalTrafficPolicy ??= 'Cluster';
  if (type === 'LoadBalancer') {
    spec.allocateLoadBalancerNodePorts ??= true;
    for (const ingress of object.status?.loadBalancer?.ingress ?? []) {
      if (ingress.ip) ingress.ipMode ??= 'VIP';
    }
  }
  ensureObject(ensureObject(object, 'status'), 'loadBalancer');
}
