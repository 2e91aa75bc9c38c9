import type { Pod } from '../../../../apimachinery/generated/core.js';
import { type JsonObject, objectAt, objectsOf, textAt, textOf } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { integerOf } from '../../shared/checks.js';
import { ensureObject, numberOf, setDefault } from '../../shared/fields.js';
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

function httpGet(action: JsonObject | undefined): void {
  const get = objectAt(action, 'httpGet');
  if (get === undefined) return;
  setDefault(get, 'path', '/');
  setDefault(get, 'scheme', 'HTTP');
}

const PROBE_DEFAULTS = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };

function probe(value: JsonObject | undefined): void {
  if (value === undefined) return;
  for (const [field, number] of Object.entries(PROBE_DEFAULTS)) {
    if (numberOf(value[field]) === 0) value[field] = number;
  }
  httpGet(value);
  const grpc = objectAt(value, 'grpc');
  if (grpc !== undefined) grpc['service'] ??= '';
}

function container(value: JsonObject, hostNetwork: boolean): void {
  setDefault(value, 'terminationMessagePath', '/dev/termination-log');
  setDefault(value, 'terminationMessagePolicy', 'File');
  setDefault(value, 'imagePullPolicy', pullPolicy(textAt(value, 'image')));
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) probe(objectAt(value, name));
  const lifecycle = objectAt(value, 'lifecycle');
  httpGet(objectAt(lifecycle, 'postStart'));
  httpGet(objectAt(lifecycle, 'preStop'));
  for (const port of objectsOf(value['ports'])) {
    setDefault(port, 'protocol', 'TCP');
    if (hostNetwork && numberOf(port['hostPort']) === 0) port['hostPort'] = port['containerPort'] ?? 0;
  }
  for (const variable of objectsOf(value['env'])) {
    const from = objectAt(variable, 'valueFrom');
    const field = objectAt(from, 'fieldRef');
    if (field !== undefined) setDefault(field, 'apiVersion', 'v1');
    const file = objectAt(from, 'fileKeyRef');
    if (file !== undefined) file['optional'] ??= false;
  }
  roundResources(value);
}

/** Defaults the requests of a container to its limits. */
function requests(value: JsonObject): void {
  const resources = objectAt(value, 'resources');
  const limits = objectAt(resources, 'limits');
  if (resources === undefined || limits === undefined) return;
  resources['requests'] = { ...limits, ...objectAt(resources, 'requests') };
}

function downwardItems(items: JsonObject['items']): void {
  for (const item of objectsOf(items)) {
    const field = objectAt(item, 'fieldRef');
    if (field !== undefined) setDefault(field, 'apiVersion', 'v1');
  }
}

function projected(source: JsonObject): void {
  source['defaultMode'] ??= DEFAULT_MODE;
  for (const part of objectsOf(source['sources'])) {
    const token = objectAt(part, 'serviceAccountToken');
    if (token !== undefined) token['expirationSeconds'] ??= 3600;
    downwardItems(objectAt(part, 'downwardAPI')?.['items']);
  }
}

function volume(value: JsonObject): void {
  if (Object.keys(value).every((field) => field === 'name')) value['emptyDir'] = {};
  for (const name of ['secret', 'configMap', 'downwardAPI']) {
    const source = objectAt(value, name);
    if (source !== undefined) source['defaultMode'] ??= DEFAULT_MODE;
  }
  downwardItems(objectAt(value, 'downwardAPI')?.['items']);
  const projection = objectAt(value, 'projected');
  if (projection !== undefined) projected(projection);
  const host = objectAt(value, 'hostPath');
  if (host !== undefined) host['type'] ??= '';
  const image = objectAt(value, 'image');
  if (image !== undefined) setDefault(image, 'pullPolicy', pullPolicy(textAt(image, 'reference')));
  defaultSources(value);
  const claim = objectAt(objectAt(objectAt(value, 'ephemeral'), 'volumeClaimTemplate'), 'spec');
  if (claim === undefined) return;
  claim['volumeMode'] ??= 'Filesystem';
  roundResources(claim);
}

/** Synchronizes the single addresses with the lists of addresses. If they differ, the single address wins. */
function syncAddresses(status: JsonObject): void {
  for (const [single, list] of [
    ['podIP', 'podIPs'],
    ['hostIP', 'hostIPs'],
  ] as const) {
    const ip = textAt(status, single);
    const first = textOf(objectsOf(status[list])[0]?.['ip']);
    if (ip !== '' && ip !== first && (first !== '' || single === 'podIP')) status[list] = [{ ip }];
    else if (ip === '' && first !== '' && single === 'podIP') status[single] = first;
  }
}

function applyStatusDefaults(status: JsonObject): void {
  syncAddresses(status);
  for (const one of [status, ...STATUS_LISTS.flatMap((list) => objectsOf(status[list]))]) {
    roundQuantities(objectAt(one, 'allocatedResources'));
    roundResources(one);
  }
}

export function applyPodDefaults(object: Pod): void {
  const spec = ensureObject(object, 'spec');
  const status = objectAt(object, 'status');
  if (status !== undefined) applyStatusDefaults(status);
  setDefault(spec, 'dnsPolicy', 'ClusterFirst');
  setDefault(spec, 'restartPolicy', 'Always');
  setDefault(spec, 'schedulerName', 'default-scheduler');
  spec['terminationGracePeriodSeconds'] ??= 30;
  if ((integerOf(spec['terminationGracePeriodSeconds']) ?? 0) < 0) spec['terminationGracePeriodSeconds'] = 1;
  roundQuantities(objectAt(spec, 'overhead'));
  roundResources(spec);
  spec['enableServiceLinks'] ??= true;
  ensureObject(spec, 'securityContext');
  // serviceAccount is the deprecated name of serviceAccountName; both are always shown.
  const account = textAt(spec, 'serviceAccountName') || textAt(spec, 'serviceAccount');
  if (account !== '') {
    spec['serviceAccountName'] = account;
    spec['serviceAccount'] = account;
  }
  const hostNetwork = spec['hostNetwork'] === true;
  for (const list of ['containers', 'initContainers']) {
    for (const value of objectsOf(spec[list])) {
      container(value, hostNetwork);
      requests(value);
    }
  }
  for (const value of objectsOf(spec['ephemeralContainers'])) container(value, false);
  for (const value of objectsOf(spec['volumes'])) volume(value);
}
