import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import type { Service, ServiceSpec } from '../../../../apimachinery/generated/core.js';
import { choiceIfSet, eachErrors, ipErrors, noDuplicates } from '../../shared/checks.js';

const SPEC = FieldPath.of('spec');
const CLUSTER_IPS = SPEC.child('clusterIPs');
const FAMILIES = SPEC.child('ipFamilies');
const POLICY = SPEC.child('ipFamilyPolicy');
const KNOWN_FAMILIES = ['IPv4', 'IPv6'];
const POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
/** The only IP family of cluster IPs, as on a kube-apiserver with a single service CIDR. */
const CONFIGURED = 'IPv4';

const isHeadless = (spec: ServiceSpec): boolean => (spec.clusterIPs ?? [])[0] === 'None';
const familyOf = (ip: string): string => (ip.includes(':') ? 'IPv6' : 'IPv4');
const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i]);

/** Validates the cluster IPs and IP families of a service by themselves. `before` is the spec of the service being updated. */
export function addressErrors(spec: ServiceSpec, before: ServiceSpec | undefined): FieldError[] {
  if (spec.type === 'ExternalName') return [];
  const ips = spec.clusterIPs ?? [];
  const families = spec.ipFamilies ?? [];
  const errors = pairErrors(spec.clusterIP ?? '', ips);
  const again = noDuplicates();
  errors.push(
    ...eachErrors(families, FAMILIES, (family, path) => [
      ...choiceIfSet(family, path, KNOWN_FAMILIES),
      ...again(family, path),
    ]),
  );
  errors.push(...choiceIfSet(spec.ipFamilyPolicy, POLICY, POLICIES));
  const wrong = singleErrors(ips, before?.clusterIPs ?? []);
  errors.push(...wrong);
  if (ips.length > 2) errors.push(invalid(CLUSTER_IPS, ips, 'may only hold up to 2 values'));
  if (wrong.length > 0) return errors;
  if (ips.length > 1 && new Set(ips.map(familyOf)).size < ips.length) {
    errors.push(invalid(CLUSTER_IPS, ips, 'may specify no more than one IP for each IP family'));
  }
  if (isHeadless(spec)) return errors;
  ips.forEach((ip, i) => {
    const family = families[i];
    if (family === undefined || !KNOWN_FAMILIES.includes(family) || family === familyOf(ip)) return;
    const text = `expected an ${family} value as indicated by \`ipFamilies[${String(i)}]\``;
    errors.push(invalid(CLUSTER_IPS.index(i), ip, text));
  });
  return errors;
}

/** Requires clusterIP and clusterIPs to agree. */
function pairErrors(single: string, ips: string[]): FieldError[] {
  if (single === '') {
    return ips.length === 0 ? [] : [invalid(CLUSTER_IPS, ips, 'must be empty when `clusterIP` is not specified')];
  }
  if (ips.length === 0) return [required(CLUSTER_IPS)];
  return ips[0] === single ? [] : [invalid(CLUSTER_IPS, ips, 'first value must match `clusterIP`')];
}

/** Validates each address by itself. Existing ones may stay. */
function singleErrors(ips: string[], before: readonly string[]): FieldError[] {
  return ips.flatMap((ip, i) => {
    if (i === 0 && ip === 'None') {
      return ips.length > 1 ? [invalid(CLUSTER_IPS, ips, "'None' must be the first and only value")] : [];
    }
    return before.includes(ip) ? [] : ipErrors(ip, CLUSTER_IPS.index(i));
  });
}

/** Rejects changes of cluster IPs, unless the service is or becomes an ExternalName, or stays headless. */
export function changedAddressErrors(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  if (spec.type === 'ExternalName' || before.type === 'ExternalName') return [];
  if (isHeadless(spec) && isHeadless(before)) return [];
  const [ips, old] = [spec.clusterIPs ?? [], before.clusterIPs ?? []];
  const changed = (i: number): FieldError => invalid(CLUSTER_IPS.index(i), ips, 'may not change once set');
  if (ips.length === old.length) return old.flatMap((ip, i) => (ip === ips[i] ? [] : [changed(i)]));
  const errors: FieldError[] = [];
  if (ips.length === 0) errors.push(invalid(CLUSTER_IPS.index(0), null, 'primary clusterIP can not be unset'));
  else if (old.length > 0 && ips[0] !== old[0]) errors.push(changed(0));
  if (ips.length < old.length && ips.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    const text = "must be set to 'SingleStack' when releasing the secondary clusterIP";
    errors.push(invalid(POLICY, spec.ipFamilyPolicy ?? null, text));
  }
  return errors;
}

/** Keeps the cluster IPs that an update omits, and makes clusterIPs follow clusterIP. */
export function followClusterIP(spec: ServiceSpec, before: ServiceSpec | undefined): void {
  const single = spec.clusterIP ?? '';
  const ips = spec.clusterIPs ?? [];
  if (before === undefined) {
    if (single !== '' && ips.length === 0) spec.clusterIPs = [single];
    return;
  }
  const [oldSingle, oldIps] = [before.clusterIP ?? '', before.clusterIPs ?? []];
  if (before.type !== 'ExternalName' && spec.type !== 'ExternalName') {
    if (single === '' && oldSingle !== '') spec.clusterIP = oldSingle;
    if (ips.length === 0 && oldIps.length > 0) spec.clusterIPs = [...oldIps];
  } else if (ips.length === 0 && oldIps.length > 0 && single === oldSingle) spec.clusterIPs = [...oldIps];
  const now = spec.clusterIP ?? '';
  if (now === oldSingle || !same(spec.clusterIPs ?? [], oldIps)) return;
  if (now === '') delete spec.clusterIPs;
  else spec.clusterIPs = [now];
}

/** Drops the addresses of a service that becomes an ExternalName, unless the request changes them. */
export function dropAddresses(spec: ServiceSpec, before: ServiceSpec): void {
  if (spec.type !== 'ExternalName' || before.type === 'ExternalName') return;
  const kept = (field: 'clusterIPs' | 'ipFamilies'): boolean => same(spec[field] ?? [], before[field] ?? []);
  if (spec.clusterIP === before.clusterIP && kept('clusterIPs')) {
    delete spec.clusterIP;
    delete spec.clusterIPs;
  }
  if (kept('ipFamilies')) delete spec.ipFamilies;
  if (spec.ipFamilyPolicy === before.ipFamilyPolicy) delete spec.ipFamilyPolicy;
}

/**
 * Sets the IP families in place, or returns the errors that prevent it. A service gets one family; a headless service without a
 * selector gets two.
 */
export function fillFamilies(object: Service, before: ServiceSpec | undefined): FieldError[] {
  const spec = object.spec;
  if (spec === undefined || spec.type === 'ExternalName' || keepsPreferred(spec, before)) return [];
  const selector = spec.selector;
  const open = spec.clusterIP === 'None' && (selector === undefined || Object.keys(selector).length === 0);
  if (typeof spec.ipFamilyPolicy !== 'string') {
    spec.ipFamilyPolicy = before?.ipFamilyPolicy || (open ? 'RequireDualStack' : 'SingleStack');
  }
  const found = addressErrors(spec, before);
  if (found.length > 0) return found;
  const errors = [...(before === undefined ? [] : reducedErrors(spec, before)), ...inferFamilies(spec)];
  if (errors.length > 0) return errors;
  const policy = spec.ipFamilyPolicy ?? '';
  const families = spec.ipFamilies ?? [];
  if (open) {
    const first = families[0] ?? CONFIGURED;
    const both = families.length < 2 && policy !== 'SingleStack';
    spec.ipFamilies = both ? [first, first === 'IPv4' ? 'IPv6' : 'IPv4'] : [first, ...families.slice(1)];
    return [];
  }
  if (policy === 'RequireDualStack') {
    errors.push(invalid(POLICY, policy, 'this cluster is not configured for dual-stack services'));
  }
  errors.push(
    ...eachErrors(families, FAMILIES, (family, path) =>
      family === CONFIGURED ? [] : [invalid(path, family, 'not configured on this cluster')],
    ),
  );
  if (errors.length === 0 && families.length === 0) spec.ipFamilies = [CONFIGURED];
  return errors;
}

/** Reports whether a service prefers dual stack and the update changes nothing about that: such a service is left unchanged. */
function keepsPreferred(spec: ServiceSpec, before: ServiceSpec | undefined): boolean {
  return (
    before !== undefined &&
    spec.ipFamilyPolicy === 'PreferDualStack' &&
    before.type === spec.type &&
    ['ClusterIP', 'NodePort', 'LoadBalancer'].includes(spec.type ?? '') &&
    (before.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack' &&
    same(spec.clusterIPs ?? [], before.clusterIPs ?? []) &&
    same(spec.ipFamilies ?? [], before.ipFamilies ?? [])
  );
}

/** With SingleStack, drops the second of two unchanged values. Otherwise rejects the removal of one. */
function reducedErrors(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const policy = spec.ipFamilyPolicy ?? '';
  for (const [field, what] of [
    ['clusterIPs', 'cluster IP'],
    ['ipFamilies', 'IP family'],
  ] as const) {
    const [now, old] = [spec[field] ?? [], before[field] ?? []];
    if (policy === 'SingleStack') {
      if (now.length > 1 && same(now, old)) spec[field] = now.slice(0, 1);
    } else if (now.length > 0 && now.length < old.length) {
      errors.push(invalid(POLICY, policy, `must be 'SingleStack' to release the secondary ${what}`));
    }
  }
  return errors;
}

/** Adds the families of cluster IPs for which none is given. */
function inferFamilies(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const ips = spec.clusterIPs ?? [];
  const families = spec.ipFamilies ?? [];
  const policy = spec.ipFamilyPolicy ?? '';
  if (policy === 'SingleStack') {
    const text = (what: string): string =>
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
    if (ips.length === 2) errors.push(invalid(POLICY, policy, text('cluster IPs')));
    if (families.length === 2) errors.push(invalid(POLICY, policy, text('IP families')));
  }
  for (const [i, ip] of ips.entries()) {
    if (ip === 'None') break;
    if (i < families.length) continue;
    const family = familyOf(ip);
    if (family === CONFIGURED) spec.ipFamilies = [...(spec.ipFamilies ?? []), family];
    else errors.push(invalid(CLUSTER_IPS.index(i), ips, `${family} is not configured on this cluster`));
  }
  return errors;
}
