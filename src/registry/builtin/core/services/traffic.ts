import {
  duplicate,
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import type { ServiceSpec } from '../../../../apimachinery/generated/core.js';
import { choice, fieldErrors, oneOf, portNumberErrors } from '../../shared/checks.js';
import { numberOf } from '../../shared/fields.js';

const SPEC = FieldPath.of('spec');
const POLICIES = ['Cluster', 'Local'];
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const MAX_AFFINITY_SECONDS = 86400;

const isBalancer = (spec: ServiceSpec): boolean => spec.type === 'LoadBalancer';
const needsNodePort = (spec: ServiceSpec): boolean => isBalancer(spec) || spec.type === 'NodePort';
const needsHealthCheck = (spec: ServiceSpec): boolean => isBalancer(spec) && spec.externalTrafficPolicy === 'Local';

/** Reports whether the service is reachable from outside the cluster. */
export function externallyAccessible(spec: ServiceSpec): boolean {
  return needsNodePort(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);
}

/** Validates the timeout of session affinity. */
export function affinityErrors(spec: ServiceSpec): FieldError[] {
  if (spec.sessionAffinity !== 'ClientIP') return [];
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds;
  const path = SPEC.child('sessionAffinityConfig', 'clientIP', 'timeoutSeconds');
  if (typeof seconds !== 'number') return [required(path, 'when session affinity type is ClientIP')];
  const why = `must be greater than 0 and less than ${String(MAX_AFFINITY_SECONDS)}`;
  return seconds > 0 && seconds <= MAX_AFFINITY_SECONDS ? [] : [invalid(path, seconds, why)];
}

/** Validates node ports: a ClusterIP service has none, and no service has one twice. */
export function nodePortErrors(spec: ServiceSpec): FieldError[] {
  const ports = (spec.ports ?? []).map((port, i) => ({
    number: numberOf(port.nodePort),
    key: `${port.protocol ?? ''}/${String(numberOf(port.nodePort))}`,
    path: SPEC.child('ports').index(i),
  }));
  const given = ports.filter(({ number }) => number !== 0);
  const errors = spec.type === 'ClusterIP' ? given.map(({ path }) => unusable(path)) : [];
  const seen = new Set<string>();
  for (const { number, key, path } of given) {
    if (seen.has(key)) errors.push(duplicate(path.child('nodePort'), number));
    seen.add(key);
  }
  return errors;
}

const unusable = (path: FieldPath): FieldError =>
  forbidden(path.child('nodePort'), "may not be used when `type` is 'ClusterIP'");

function externalErrors(spec: ServiceSpec): FieldError[] {
  const policy = spec.externalTrafficPolicy ?? '';
  const path = SPEC.child('externalTrafficPolicy');
  if (externallyAccessible(spec)) return choice(policy, path, POLICIES);
  return policy === '' ? [] : [invalid(path, policy, 'may only be set for externally-accessible services')];
}

/** Does not allocate a health check port if none is given: no load balancer would use it. */
function healthCheckErrors(spec: ServiceSpec): FieldError[] {
  const port = numberOf(spec.healthCheckNodePort);
  const path = SPEC.child('healthCheckNodePort');
  if (port === 0) return [];
  if (needsHealthCheck(spec)) return portNumberErrors(port, path);
  const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
  return [invalid(path, port, why)];
}

function balancerErrors(spec: ServiceSpec): FieldError[] {
  const name = spec.loadBalancerClass;
  const path = SPEC.child('loadBalancerClass');
  if (isBalancer(spec)) {
    return typeof name === 'string' ? qualifiedNameErrors(name, path) : [];
  }
  const why = "may only be used when `type` is 'LoadBalancer'";
  return [
    ...(typeof spec.allocateLoadBalancerNodePorts === 'boolean'
      ? [forbidden(SPEC.child('allocateLoadBalancerNodePorts'), why)]
      : []),
    ...(typeof name === 'string' ? [forbidden(path, why)] : []),
  ];
}

/** Validates the load balancer and the traffic policies of a service. */
export function trafficErrors(spec: ServiceSpec): FieldError[] {
  return [
    ...balancerErrors(spec),
    ...externalErrors(spec),
    ...healthCheckErrors(spec),
    ...fieldErrors(spec, SPEC, {
      internalTrafficPolicy: oneOf(...POLICIES),
      trafficDistribution: oneOf(...DISTRIBUTIONS),
    }),
  ];
}

/** Rejects changes of fields that are immutable as long as the type of the service uses them. */
export function changedTrafficErrors(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const path = SPEC.child('loadBalancerClass');
  const name = spec.loadBalancerClass;
  if (isBalancer(spec) && isBalancer(before)) {
    if ((name ?? null) !== (before.loadBalancerClass ?? null)) {
      errors.push(invalid(path, name ?? null, 'may not change once set'));
    }
  }
  errors.push(...balancerErrors(spec).filter(({ field }) => field === path.toString()));
  const port = (one: ServiceSpec): number => numberOf(one.healthCheckNodePort);
  if (needsHealthCheck(spec) && needsHealthCheck(before) && port(spec) !== port(before)) {
    errors.push(forbidden(SPEC.child('healthCheckNodePort'), 'field is immutable'));
  }
  return errors;
}

/** Drops the fields of the previous type of the service that its new type cannot have, unless the client changed them. */
export function dropTraffic(spec: ServiceSpec, before: ServiceSpec): void {
  const same = (field: string): boolean => (spec[field] ?? null) === (before[field] ?? null);
  if (needsNodePort(before) && !needsNodePort(spec)) {
    const had = new Set((before.ports ?? []).map((port) => numberOf(port.nodePort)));
    const ports = spec.ports ?? [];
    const known = ports.every((port) => numberOf(port.nodePort) === 0 || had.has(numberOf(port.nodePort)));
    if (known) for (const port of ports) delete port.nodePort;
  }
  const health = needsHealthCheck(before) && !needsHealthCheck(spec);
  if (health && same('healthCheckNodePort')) delete spec.healthCheckNodePort;
  if (isBalancer(before) && !isBalancer(spec)) {
    for (const field of ['allocateLoadBalancerNodePorts', 'loadBalancerClass']) if (same(field)) delete spec[field];
  }
  if (externallyAccessible(before) && !externallyAccessible(spec) && same('externalTrafficPolicy')) {
    delete spec.externalTrafficPolicy;
  }
}
