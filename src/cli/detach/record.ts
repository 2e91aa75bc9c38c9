import { isObject, type JsonObject, objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import { parseJson } from '../../apimachinery/json/decode.js';
import { DETACHED } from '../../client/detached.js';

export const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
/** kube-apiserver takes up to 1 MiB in the data of a ConfigMap. */
const MAX_BYTES = 1_000_000;

export const configMapPath = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

/** Names the installation by its Service. */
export interface ServiceName {
  readonly namespace: string;
  readonly service: string;
}

/** Returns the APIServices that Annex has registered for this Service. Those that somebody else made are not touched. */
export function ownApiServices(all: readonly JsonObject[], { namespace, service }: ServiceName): JsonObject[] {
  return all.filter((one) => {
    const labels = objectAt(objectAt(one, 'metadata'), 'labels');
    const reference = objectAt(objectAt(one, 'spec'), 'service');
    return (
      stringAt(labels, 'app.kubernetes.io/managed-by') === 'annex' &&
      stringAt(reference, 'namespace') === namespace &&
      stringAt(reference, 'name') === service
    );
  });
}

/** The data of the ConfigMap: CA bundles are equal for most APIServices, so each is kept once. */
export function configMapText(
  services: readonly JsonObject[],
  adopted: readonly string[],
  time: string,
): Record<string, string> {
  const bundles: string[] = [];
  const kept = services.map((service): JsonObject => {
    const { name, labels, annotations, ownerReferences } = objectAt(service, 'metadata') ?? {};
    const { caBundle, ...spec } = objectAt(service, 'spec') ?? {};
    const bundle = typeof caBundle === 'string' ? caBundle : '';
    if (!bundles.includes(bundle)) bundles.push(bundle);
    const metadata = { name, labels, annotations, ownerReferences };
    const present = Object.entries(metadata).filter(([, value]) => value !== undefined);
    return { metadata: Object.fromEntries(present), spec, caBundle: bundles.indexOf(bundle) };
  });
  const data = {
    'apiservices.json': JSON.stringify(kept),
    'ca-bundles.json': JSON.stringify(bundles),
    'adoptions.json': JSON.stringify(adopted),
    time,
  };
  const bytes = Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_BYTES)
    throw new Error(`${services.length} APIServices do not fit into the ConfigMap ${DETACHED} (${bytes} bytes)`);
  return data;
}

/** Returns the APIServices as they were. Throws if the ConfigMap is not what `annex detach` writes. */
export function recordedServices(configMap: JsonObject): JsonObject[] {
  const data = objectAt(configMap, 'data');
  const read = (key: string): JsonObject[] | string[] => {
    const value = parseJson(Buffer.from(stringAt(data, key) ?? ''));
    if (!Array.isArray(value)) throw new Error('no list');
    return value as JsonObject[] | string[];
  };
  try {
    const bundles = read('ca-bundles.json') as string[];
    return objectsOf(read('apiservices.json') as JsonObject[]).map((service) => {
      const { caBundle, metadata, spec } = service;
      const bundle = bundles[Number(caBundle)] ?? '';
      if (!isObject(spec) || !isObject(metadata)) throw new Error('no APIService');
      const whole = bundle === '' ? spec : { ...spec, caBundle: bundle };
      return { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata, spec: whole };
    });
  } catch {
    throw new Error(`the ConfigMap ${DETACHED} is damaged: delete it, and a running Annex registers its types again`);
  }
}
