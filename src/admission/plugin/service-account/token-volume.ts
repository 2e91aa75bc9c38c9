import { type JsonObject, objectsOf, textAt, textOf } from '../../../apimachinery/json/json.js';

const VOLUME = 'kube-api-access-';
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** An hour and seven seconds. Tokens of this lifetime are extended to a year for clients that do not reload them. */
const EXPIRATION_SECONDS = 3607;
const DEFAULT_MODE = 0o644;

/** Mounts a token into every container that has no mount at that path yet. */
export function mountToken(spec: JsonObject, generateName: (prefix: string) => string): void {
  const volumes = objectsOf(spec['volumes']);
  const existing = volumes.find(({ name }) => textOf(name).startsWith(VOLUME));
  const name = textAt(existing, 'name') || generateName(VOLUME);
  let needed = false;
  for (const list of ['initContainers', 'containers']) {
    for (const container of objectsOf(spec[list])) {
      const mounts = objectsOf(container['volumeMounts']);
      if (mounts.some(({ mountPath }) => mountPath === MOUNT_PATH)) continue;
      container['volumeMounts'] = [...mounts, { name, readOnly: true, mountPath: MOUNT_PATH }];
      needed = true;
    }
  }
  if (needed && existing === undefined) spec['volumes'] = [...volumes, tokenVolume(name)];
}

function tokenVolume(name: string): JsonObject {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: EXPIRATION_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: DEFAULT_MODE,
    },
  };
}
