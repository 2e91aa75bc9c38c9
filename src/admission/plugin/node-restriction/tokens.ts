import { newNotFound } from '../../../apimachinery/meta/errors.js';
import { type JsonObject, objectAt, objectsOf, stringsOf, textAt } from '../../../apimachinery/json/json.js';
import { type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import { aggregateTexts } from '../../../authorization/authorizer/results.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import type { ObjectReader } from '../../object-reader.js';
import { refusal } from '../../refusal.js';
import { nodeOf } from './pods.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';

interface Dependencies {
  readonly pods: ObjectReader;
  readonly claims: ObjectReader;
  readonly volumes: ObjectReader;
  readonly authorizer: Authorizer;
}

/** The CSI drivers that replace in-tree volume sources. */
const MIGRATED: Readonly<Record<string, string>> = {
  awsElasticBlockStore: 'ebs.csi.aws.com',
  azureDisk: 'disk.csi.azure.com',
  azureFile: 'file.csi.azure.com',
  cinder: 'cinder.csi.openstack.org',
  gcePersistentDisk: 'pd.csi.storage.gke.io',
  portworxVolume: 'pxd.portworx.com',
  vsphereVolume: 'csi.vsphere.vmware.com',
};

const driverOf = (volume: JsonObject | undefined): string => {
  const csi = objectAt(volume, 'csi');
  if (csi !== undefined) return textAt(csi, 'driver');
  const source = Object.keys(MIGRATED).find((key) => volume?.[key] !== undefined);
  return MIGRATED[source ?? ''] ?? '';
};

/** Allows a node to request tokens for the service accounts of its pods, bound to these pods and for audiences that they mount. */
export const admitToken =
  (dependencies: Dependencies) =>
  (node: string, attributes: AdmissionAttributes): MaybePromise<void> => {
    if (attributes.operation !== 'CREATE' || attributes.subresource !== 'token') return;
    const spec = objectAt(attributes.object, 'spec');
    const ref = objectAt(spec, 'boundObjectRef');
    const name = textAt(ref, 'name');
    if (ref?.['apiVersion'] !== 'v1' || ref['kind'] !== 'Pod' || name === '') {
      throw refusal(attributes, 'node requested token not bound to a pod');
    }
    const uid = textAt(ref, 'uid');
    if (uid === '') throw refusal(attributes, 'node requested token with a pod binding without a uid');
    const pod = dependencies.pods.cached(attributes.namespace, name);
    if (pod === undefined) throw newNotFound({ group: '', resource: 'pod' }, name);
    if (uid !== pod.metadata.uid) {
      const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
      throw refusal(attributes, why);
    }
    if (nodeOf(pod) !== node) {
      throw refusal(attributes, 'node requested token bound to a pod scheduled on a different node');
    }
    return checkAudience(dependencies, attributes, pod, stringsOf(spec?.['audiences']));
  };

function checkAudience(
  dependencies: Dependencies,
  attributes: AdmissionAttributes,
  pod: KubeObject,
  audiences: readonly string[],
): MaybePromise<void> {
  if (audiences.length > 1) throw refusal(attributes, 'node may only request 0 or 1 audiences');
  const audience = audiences[0] ?? '';
  const mounted = mounts(dependencies, pod, audience);
  if (mounted === true) return;
  if (mounted !== false) throw refusal(attributes, `error validating audience ${quote(audience)}: ${mounted}`);
  return authorizeAudience(dependencies.authorizer, attributes, audience);
}

async function authorizeAudience(
  authorizer: Authorizer,
  attributes: AdmissionAttributes,
  audience: string,
): Promise<void> {
  const { user, namespace, name, signal } = attributes;
  const asked = {
    user,
    verb: 'request-serviceaccounts-token-audience',
    resourceRequest: true,
    namespace,
    apiGroup: '',
    apiVersion: 'v1',
    resource: audience,
    subresource: '',
    name,
    path: '',
  };
  const { decision, error } = await authorizer.authorize(asked, signal());
  if (decision === 'allow') return;
  const what = `audience ${quote(audience)} not found in pod spec volume`;
  if (error !== undefined && error !== '') {
    throw refusal(attributes, `${what}, error authorizing ${user.name} to request tokens for this audience: ${error}`);
  }
  throw refusal(attributes, `${what}, ${user.name} is not authorized to request tokens for this audience`);
}

/** Reports whether the pod mounts a token for the audience; returns a string with the reason if that cannot be determined. */
function mounts({ claims, volumes }: Dependencies, pod: KubeObject, audience: string): boolean | string {
  const errors: string[] = [];
  for (const volume of objectsOf(objectAt(pod, 'spec')?.['volumes'])) {
    const sources = objectsOf(objectAt(volume, 'projected')?.['sources']);
    const isFor = (source: JsonObject): boolean => {
      const token = objectAt(source, 'serviceAccountToken');
      return token !== undefined && textAt(token, 'audience') === audience;
    };
    if (sources.some(isFor)) return true;
    const claim = claimOf(pod, volume);
    const driver = claim === undefined ? driverOf(volume) : driverOfClaim(claims, volumes, pod, claim);
    if (typeof driver !== 'string') errors.push(driver.error);
    // CSIDrivers, which list the audiences of their volumes, are not served.
    else if (driver !== '') errors.push(`csidriver.storage.k8s.io ${quote(driver)} not found`);
  }
  return errors.length === 0 ? false : aggregateTexts(errors);
}

function claimOf(pod: KubeObject, volume: JsonObject): string | undefined {
  if (objectAt(objectAt(volume, 'ephemeral'), 'volumeClaimTemplate') !== undefined) {
    return `${pod.metadata.name ?? ''}-${textAt(volume, 'name')}`;
  }
  const claim = objectAt(volume, 'persistentVolumeClaim');
  return claim === undefined ? undefined : textAt(claim, 'claimName');
}

function driverOfClaim(
  claims: ObjectReader,
  volumes: ObjectReader,
  pod: KubeObject,
  name: string,
): string | { readonly error: string } {
  const claim = claims.cached(pod.metadata.namespace ?? '', name);
  if (claim === undefined) return { error: `persistentvolumeclaim ${quote(name)} not found` };
  const volumeName = textAt(objectAt(claim, 'spec'), 'volumeName');
  const volume = volumes.cached('', volumeName);
  if (volume === undefined) return { error: `persistentvolume ${quote(volumeName)} not found` };
  return driverOf(objectAt(volume, 'spec'));
}
