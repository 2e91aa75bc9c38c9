import { FieldPath } from '../../../../apimachinery/meta/field-error.js';
import type * as core from '../../../../apimachinery/generated/core.js';
import { textOf } from '../../../../apimachinery/json/json.js';
import { quote } from '../../../../apimachinery/meta/meta.js';
import { addressWarnings } from '../../../../apimachinery/validation/addresses.js';
import { isLabelValue } from '../../../../apimachinery/validation/names.js';
import { integerOf } from '../../shared/checks.js';
import { numberOf } from '../../shared/fields.js';
import { fractionWarnings } from '../../shared/resources.js';
import { SECCOMP_CONTAINER, SECCOMP_POD } from './validation/annotations.js';
import { allContainers } from './containers/container-lists.js';
import { PREFERRED, REQUIRED } from './fields.js';
import { overlapWarnings } from './validation/overlaps.js';

const SPEC = FieldPath.of('spec');
const ANNOTATIONS = FieldPath.of('metadata', 'annotations');

/** Deprecated names of node labels. */
const LABELS: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods': 'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
};

const OLD_ANNOTATIONS: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
};

/** Deprecated volume sources: the field, the warning, and the name in the warning if it is not the field's. */
const VOLUMES: readonly (readonly [field: keyof core.Volume & string, text: string, shown?: string])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+', 'storageOS'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

function labelWarnings(key: string, path: FieldPath): string[] {
  const old = LABELS[key];
  return old === undefined ? [] : [`${path.toString()}: ${key} is ${old}`];
}

function termWarnings(term: core.NodeSelectorTerm, path: FieldPath, what: 'keys alone' | 'with values'): string[] {
  return (term.matchExpressions ?? []).flatMap((expression, i) => {
    const at = path.child('matchExpressions').index(i);
    const texts = labelWarnings(expression.key ?? '', at.child('key'));
    if (what === 'keys alone') return texts;
    (expression.values ?? []).forEach((value, j) => {
      const where = at.child('values').index(j).toString();
      texts.push(...isLabelValue(value).map((why) => `${where}: ${value} is invalid, ${why}`));
    });
    return texts;
  });
}

function placeWarnings(spec: core.PodSpec): string[] {
  const texts: string[] = [];
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    const old = LABELS[key];
    if (old !== undefined) texts.push(`${SPEC.child('nodeSelector').key(key).toString()}: ${old}`);
  }
  const nodes = spec.affinity?.nodeAffinity;
  const path = SPEC.child('affinity', 'nodeAffinity');
  (nodes?.[REQUIRED]?.nodeSelectorTerms ?? []).forEach((term, i) => {
    texts.push(...termWarnings(term, path.child(REQUIRED, 'nodeSelectorTerms').index(i), 'keys alone'));
  });
  (nodes?.[PREFERRED] ?? []).forEach((term, i) => {
    const at = path.child(PREFERRED).index(i).child('preference');
    texts.push(...termWarnings(term.preference ?? {}, at, 'with values'));
  });
  (spec.topologySpreadConstraints ?? []).forEach((constraint, i) => {
    const at = SPEC.child('topologySpreadConstraints').index(i);
    texts.push(...labelWarnings(constraint.topologyKey ?? '', at.child('topologyKey')));
    texts.push(...noSelector(constraint, at));
  });
  return texts;
}

const noSelector = (term: core.TopologySpreadConstraint | core.PodAffinityTerm, path: FieldPath): string[] =>
  term.labelSelector === undefined
    ? [`${path.child('labelSelector').toString()}: a null labelSelector results in matching no pod`]
    : [];

/** Returns warnings about values of a list that occur more than once. */
function again<F extends 'ip' | 'name'>(
  items: readonly { readonly [Field in F]?: string }[],
  path: FieldPath,
  field: F,
): string[] {
  const seen = new Set<string>();
  return items.flatMap((item, i) => {
    const value: string = item[field] ?? '';
    if (!seen.has(value)) {
      seen.add(value);
      return [];
    }
    return [`${path.index(i).child(field).toString()}: duplicate ${field} ${quote(value)}`];
  });
}

const BYTES = ['memory', 'ephemeral-storage'];

function envWarnings(container: core.Container, path: FieldPath): string[] {
  const seen = new Set<string>();
  return (container.env ?? []).flatMap((variable, i) => {
    const name = variable.name ?? '';
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    const ref = `$(${name})`;
    const value = variable.value ?? '';
    if (variable.valueFrom === undefined && value !== ref && value.includes(ref)) return [];
    const where = path.child('env').index(i).toString();
    return [`${where}: hides previous definition of ${quote(name)}, which may be dropped when using apply`];
  });
}

function containerWarnings(pod: core.Pod, container: core.Container, path: FieldPath): string[] {
  const key = `${SECCOMP_CONTAINER}${container.name ?? ''}`;
  const profile = container.securityContext?.seccompProfile;
  const texts = profile === undefined ? seccompWarnings(pod, key) : [];
  const resources = container.resources;
  for (const name of BYTES) {
    for (const part of ['limits', 'requests'] as const) {
      texts.push(...fractionWarnings(resources?.[part], path.child('resources', part), name));
    }
  }
  return [...texts, ...envWarnings(container, path)];
}

const seccompWarnings = (pod: core.Pod, key: string): string[] =>
  pod.metadata.annotations?.[key] === undefined
    ? []
    : [`${ANNOTATIONS.key(key).toString()}: non-functional in v1.27+; use the "seccompProfile" field instead`];

/** Formats a port as Go prints the struct. */
const printPort = (port: core.ContainerPort): string =>
  `{Name:${port.name ?? ''} HostPort:${String(numberOf(port.hostPort))} ContainerPort:${String(numberOf(port.containerPort))} Protocol:${port.protocol ?? ''} HostIP:${port.hostIP ?? ''}}`;

function portWarnings(containers: readonly (readonly [core.Container, FieldPath])[]): string[] {
  const seen = new Map<string, (readonly [port: core.ContainerPort, path: FieldPath])[]>();
  const ports = containers.flatMap(([container, path]) =>
    (container.ports ?? []).map((port, i) => [port, path.child('ports').index(i)] as const),
  );
  const texts = ports.flatMap(([port, path]) => {
    const [ip, host] = [port.hostIP ?? '', numberOf(port.hostPort)];
    const where = path.toString();
    const found = ip !== '' && host === 0 ? [`${where}: hostIP set without hostPort: ${printPort(port)}`] : [];
    const key = `${String(numberOf(port.containerPort))}/${port.protocol ?? ''}`;
    const others = seen.get(key) ?? [];
    for (const [other, otherPath] of others) {
      const [otherIp, otherHost] = [other.hostIP ?? '', numberOf(other.hostPort)];
      const what =
        ip === otherIp && host === otherHost
          ? 'duplicate'
          : host === 0 || otherHost === 0
            ? 'overlapping'
            : host === otherHost && (ip === '') !== (otherIp === '')
              ? 'dangerously ambiguous'
              : undefined;
      if (what !== undefined) found.push(`${where}: ${what} port definition with ${otherPath.toString()}`);
    }
    seen.set(key, [...others, [port, path]]);
    return found;
  });
  const names = new Map<string, string>();
  for (const [port, path] of ports) {
    const name = port.name ?? '';
    const first = names.get(name);
    if (name === '') continue;
    if (first === undefined) names.set(name, path.toString());
    else {
      const uses = `services and probes that select ports by name will use ${first}`;
      texts.push(`${path.toString()}: duplicate port name ${quote(name)} with ${first}, ${uses}`);
    }
  }
  return texts;
}

function podAffinityWarnings(spec: core.PodSpec): string[] {
  return (['podAffinity', 'podAntiAffinity'] as const).flatMap((name) => {
    const affinity = spec.affinity?.[name];
    const path = SPEC.child('affinity', name);
    return [
      ...(affinity?.[REQUIRED] ?? []).flatMap((term, i) => noSelector(term, path.child(REQUIRED).index(i))),
      ...(affinity?.[PREFERRED] ?? []).flatMap((term, i) =>
        noSelector(term.podAffinityTerm ?? {}, path.child(PREFERRED).index(i).child('podAffinityTerm')),
      ),
    ];
  });
}

/** Returns the warnings for the creation of a pod. */
export function podWarnings(pod: core.Pod): string[] {
  const spec: core.PodSpec = pod.spec ?? {};
  const containers = allContainers(spec, SPEC);
  const volumes = spec.volumes ?? [];
  const secrets = spec.imagePullSecrets ?? [];
  const aliases = spec.hostAliases ?? [];
  const grace = integerOf(spec.terminationGracePeriodSeconds);
  const profile = spec.securityContext?.seccompProfile;
  return [
    ...placeWarnings(spec),
    ...Object.entries(OLD_ANNOTATIONS)
      .filter(([key]) => pod.metadata.annotations?.[key] !== undefined)
      .map(([key, text]) => `${ANNOTATIONS.key(key).toString()}: ${text}`),
    ...volumes.flatMap((volume, i) => volumeWarnings(volume, SPEC.child('volumes').index(i))),
    ...overlapWarnings(volumes),
    ...again(aliases, SPEC.child('hostAliases'), 'ip'),
    ...again(secrets, SPEC.child('imagePullSecrets'), 'name'),
    ...secrets.flatMap(({ name }, i) =>
      textOf(name) === ''
        ? [`${SPEC.child('imagePullSecrets').index(i).child('name').toString()}: invalid empty name ""`]
        : [],
    ),
    ...BYTES.flatMap((name) => fractionWarnings(spec.overhead, SPEC.child('overhead'), name)),
    ...(profile === undefined ? seccompWarnings(pod, SECCOMP_POD) : []),
    ...containers.flatMap(([container, path]) => containerWarnings(pod, container, path)),
    ...portWarnings(containers),
    ...(grace !== undefined && grace < 0
      ? [
          `${SPEC.child('terminationGracePeriodSeconds').toString()}: must be >= 0; negative values are invalid and will be treated as 1`,
        ]
      : []),
    ...podAffinityWarnings(spec),
    ...(spec.dnsConfig?.nameservers ?? []).flatMap((ip, i) =>
      addressWarnings(SPEC.child('dnsConfig', 'nameservers').index(i).toString(), ip),
    ),
    ...aliases.flatMap(({ ip }, i) =>
      addressWarnings(SPEC.child('hostAliases').index(i).child('ip').toString(), textOf(ip)),
    ),
  ];
}

function volumeWarnings(volume: core.Volume, path: FieldPath): string[] {
  const texts = VOLUMES.filter(([field]) => volume[field] !== undefined).map(
    ([field, text, shown = field]) => `${path.child(shown).toString()}: ${text}`,
  );
  const template = volume.ephemeral?.volumeClaimTemplate;
  const resources = template?.spec?.resources;
  const at = path.child('ephemeral', 'volumeClaimTemplate', 'spec', 'resources');
  return [
    ...texts,
    ...(['requests', 'limits'] as const).flatMap((part) =>
      fractionWarnings(resources?.[part], at.child(part), 'storage'),
    ),
  ];
}
