import { objectAt } from '../../apimachinery/json/json.js';
import type { LoopbackClients } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { NamespacedDefault } from '../namespaced-default.js';

const NAME = 'kube-root-ca.crt';
const KEY = 'ca.crt';
const DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/** Maintains a ConfigMap in every namespace with the certificates that verify the server. */
export function rootCaPublisher(
  rootCa: string,
  clients: LoopbackClients,
  clock: Clock,
  onError: (namespace: string, error: unknown) => void,
): NamespacedDefault {
  return new NamespacedDefault({
    queue: 'root_ca_cert_publisher',
    clients,
    clock,
    resource: 'configmaps',
    name: NAME,
    make: (namespace) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: NAME, namespace, annotations: { 'kubernetes.io/description': DESCRIPTION } },
      data: { [KEY]: rootCa },
    }),
    accepts: (object) => {
      const data = objectAt(object, 'data') ?? {};
      return Object.keys(data).length === 1 && data[KEY] === rootCa;
    },
    repair: (object) => {
      object['data'] = { [KEY]: rootCa };
      object.metadata.annotations = { ...object.metadata.annotations, 'kubernetes.io/description': DESCRIPTION };
    },
    onError,
  });
}
