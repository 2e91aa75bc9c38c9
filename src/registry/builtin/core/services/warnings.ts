import type { Service, ServiceSpec } from '../../../../apimachinery/generated/core.js';
import { addressWarnings, cidrWarnings } from '../../../../apimachinery/validation/addresses.js';

const HINTS = 'service.kubernetes.io/topology-aware-hints';
const MODE = 'service.kubernetes.io/topology-mode';

/** Returns kube-apiserver's warnings for a valid service. */
export function serviceWarnings(object: Service): string[] {
  const spec: ServiceSpec = object.spec ?? {};
  const { type, clusterIP, sessionAffinity, trafficDistribution } = spec;
  const external = spec.externalIPs ?? [];
  const balancer = spec.loadBalancerIP ?? '';
  const headless = type === 'ClusterIP' && clusterIP === 'None';
  const byName = type === 'ExternalName';
  const each = (field: string, texts: readonly string[], look: (path: string, text: string) => string[]): string[] =>
    texts.flatMap((text, i) => look(`spec.${field}[${String(i)}]`, text));
  const when = (said: boolean, text: string): string[] => (said ? [text] : []);
  const assigned = typeof clusterIP === 'string' && clusterIP !== '' && clusterIP !== 'None';
  return [
    ...when(
      object.metadata.annotations?.[HINTS] !== undefined,
      `annotation ${HINTS} is deprecated, please use ${MODE} instead`,
    ),
    ...(assigned ? each('clusterIPs', spec.clusterIPs ?? [], addressWarnings) : []),
    ...when(headless && balancer !== '', 'spec.loadBalancerIP is ignored for headless services'),
    ...when(headless && external.length > 0, 'spec.externalIPs is ignored for headless services'),
    ...when(headless && sessionAffinity !== 'None', 'spec.SessionAffinity is ignored for headless services'),
    ...each('externalIPs', external, addressWarnings),
    ...when(
      external.length > 0 && !headless && !byName,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ),
    ...(balancer === '' ? [] : addressWarnings('spec.loadBalancerIP', balancer)),
    ...each('loadBalancerSourceRanges', spec.loadBalancerSourceRanges ?? [], cidrWarnings),
    ...when(byName && external.length > 0, 'spec.externalIPs is ignored when spec.type is "ExternalName"'),
    ...when(
      !byName && (spec.externalName ?? '') !== '',
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ),
    ...when(
      trafficDistribution === 'PreferClose',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ),
  ];
}

/** Returns the warnings for the addresses in a service's status. */
export function serviceStatusWarnings(object: Service): string[] {
  const ingress = object.status?.loadBalancer?.ingress ?? [];
  return ingress.flatMap((entry, i) => {
    const ip = entry.ip ?? '';
    return ip === '' ? [] : addressWarnings(`status.loadBalancer.ingress[${String(i)}]`, ip);
  });
}
