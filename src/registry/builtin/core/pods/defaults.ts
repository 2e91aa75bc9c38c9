import type * as core from '../../../../apimachinery/generated/core.js';
import { integerOf } from '../../shared/checks.js';
import { ensureObject, numberOf } from '../../shared/fields.js';
import { roundQuantities, roundResources } from '../../shared/resources.js';
import { defaultSources } from '../../shared/volume-sources.js';
import { STATUS_LISTS } from './fields.js';

const DEFAULT_MODE = 0o644;

/** An optional first segment, which may be a registry with a port, then the path and the tag. */
const IMAGE =
  /^(?:([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?)\/)?([^:]*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?$/;
const PART = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const LONGEST = 512;
const LONGEST_REPOSITORY = 255;

/**
 * Returns the repository of an image without its registry. The first segment is a registry if it looks like one. Images of
 * docker.io without a path are in `library`.
 */
function repository(image: string): string {
  const at = image.indexOf('/');
  const first = image.slice(0, Math.max(at, 0));
  const registry = first === 'localhost' || /[.:A-Z]/.test(first);
  const path = at >= 0 && registry ? image.slice(at + 1) : image;
  const usual = !registry || /^(?:index\.)?docker\.io$/.test(first);
  return usual && !path.includes('/') ? `library/${path}` : path;
}

/** Returns the tag of an image reference: `latest` if it has neither tag nor digest, '' if it has a digest or is invalid. */
function imageTag(image: string): string {
  if (image.includes('@') || image.length > LONGEST) return '';
  const parts = IMAGE.exec(image);
  if (parts?.[2]?.split('/').every((part) => PART.test(part)) !== true) return '';
  const tag = parts[3];
  const name = tag === undefined ? image : image.slice(0, -1 - tag.length);
  return repository(name).length > LONGEST_REPOSITORY ? '' : (tag ?? 'latest');
}

const pullPolicy = (image: string): string => (imageTag(image) === 'latest' ? 'Always' : 'IfNotPresent');

function httpGet(action: core.LifecycleHandler | core.Probe | undefined): void {
  const get = action?.httpGet;
  if (get === undefined) return;
  get.path ||= '/';
  get.scheme ||= 'HTTP';
}

const PROBE_DEFAULTS = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };

function probe(value: core.Probe | undefined): void {
  if (value === undefined) return;
  for (const [field, number] of Object.entries(PROBE_DEFAULTS)) {
    if (numberOf(value[field]) === 0) value[field] = number;
  }
  httpGet(value);
  const grpc = value.grpc;
  if (grpc !== undefined) grpc.service ??= '';
}

function container(value: core.Container, hostNetwork: boolean): void {
  value.terminationMessagePath ||= '/dev/termination-log';
  value.terminationMessagePolicy ||= 'File';
  value.imagePullPolicy ||= pullPolicy(value.image ?? '');
  probe(value.livenessProbe);
  probe(value.readinessProbe);
  probe(value.startupProbe);
  const lifecycle = value.lifecycle;
  httpGet(lifecycle?.postStart);
  httpGet(lifecycle?.preStop);
  for (const port of value.ports ?? []) {
    port.protocol ||= 'TCP';
    if (hostNetwork && numberOf(port.hostPort) === 0) port.hostPort = port.containerPort ?? 0;
  }
  for (const variable of value.env ?? []) {
    const from = variable.valueFrom;
    const field = from?.fieldRef;
    if (field !== undefined) field.apiVersion ||= 'v1';
    const file = from?.fileKeyRef;
    if (file !== undefined) file.optional ??= false;
  }
  roundResources(value);
}

/** Defaults the requests of a container to its limits. */
function requests(value: core.Container): void {
  const resources = value.resources;
  const limits = resources?.limits;
  if (resources === undefined || limits === undefined) return;
  resources.requests = { ...limits, ...resources.requests };
}

function downwardItems(items: readonly core.DownwardAPIVolumeFile[] = []): void {
  for (const item of items) {
    const field = item.fieldRef;
    if (field !== undefined) field.apiVersion ||= 'v1';
  }
}

function projected(source: core.ProjectedVolumeSource): void {
  source.defaultMode ??= DEFAULT_MODE;
  for (const part of source.sources ?? []) {
    const token = part.serviceAccountToken;
    if (token !== undefined) token.expirationSeconds ??= 3600;
    downwardItems(part.downwardAPI?.items);
  }
}

function volume(value: core.Volume): void {
  if (Object.keys(value).every((field) => field === 'name')) value.emptyDir = {};
  for (const source of [value.secret, value.configMap, value.downwardAPI]) {
    if (source !== undefined) source.defaultMode ??= DEFAULT_MODE;
  }
  downwardItems(value.downwardAPI?.items);
  const projection = value.projected;
  if (projection !== undefined) projected(projection);
  const host = value.hostPath;
  if (host !== undefined) host.type ??= '';
  const image = value.image;
  if (image !== undefined) image.pullPolicy ||= pullPolicy(image.reference ?? '');
  defaultSources(value);
  const claim = value.ephemeral?.volumeClaimTemplate?.spec;
  if (claim === undefined) return;
  claim.volumeMode ??= 'Filesystem';
  roundResources(claim);
}

/** Synchronizes the single addresses with the lists of addresses. If they differ, the single address wins. */
function syncAddresses(status: core.PodStatus): void {
  for (const [single, list] of [
    ['podIP', 'podIPs'],
    ['hostIP', 'hostIPs'],
  ] as const) {
    const ip = status[single] ?? '';
    const first = status[list]?.[0]?.ip ?? '';
    if (ip !== '' && ip !== first && (first !== '' || single === 'podIP')) status[list] = [{ ip }];
    else if (ip === '' && first !== '' && single === 'podIP') status[single] = first;
  }
}

function applyStatusDefaults(status: core.PodStatus): void {
  syncAddresses(status);
  for (const one of [status, ...STATUS_LISTS.flatMap((list) => status[list] ?? [])]) {
    roundQuantities(one.allocatedResources);
    roundResources(one);
  }
}

export function applyPodDefaults(object: core.Pod): void {
  const spec = ensureObject(object, 'spec');
  const status = object.status;
  if (status !== undefined) applyStatusDefaults(status);
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.schedulerName ||= 'default-scheduler';
  spec.terminationGracePeriodSeconds ??= 30;
  if ((integerOf(spec.terminationGracePeriodSeconds) ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  roundQuantities(spec.overhead);
  roundResources(spec);
  spec.enableServiceLinks ??= true;
  ensureObject(spec, 'securityContext');
  // serviceAccount is the deprecated name of serviceAccountName; both are always shown.
  const account = spec.serviceAccountName || (spec.serviceAccount ?? '');
  if (account !== '') {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  const hostNetwork = spec.hostNetwork === true;
  for (const value of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    container(value, hostNetwork);
    requests(value);
  }
  for (const value of spec.ephemeralContainers ?? []) container(value, false);
  for (const value of spec.volumes ?? []) volume(value);
}
