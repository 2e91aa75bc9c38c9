import { type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import { setDefault } from './fields.js';

const AZURE_DISK: readonly (readonly [string, string | boolean])[] = [
  ['cachingMode', 'ReadWrite'],
  ['fsType', 'ext4'],
  ['readOnly', false],
  ['kind', 'Shared'],
];

/** Sets the defaults of the volume sources that pods and persistent volumes have in common. `holder` is the volume or spec with the source. */
export function defaultSources(holder: JsonObject): void {
  const iscsi = objectAt(holder, 'iscsi');
  if (iscsi !== undefined) setDefault(iscsi, 'iscsiInterface', 'default');
  const rbd = objectAt(holder, 'rbd');
  if (rbd !== undefined) {
    setDefault(rbd, 'pool', 'rbd');
    setDefault(rbd, 'user', 'admin');
    setDefault(rbd, 'keyring', '/etc/ceph/keyring');
  }
  const disk = objectAt(holder, 'azureDisk');
  if (disk !== undefined) for (const [field, value] of AZURE_DISK) disk[field] ??= value;
  const scale = objectAt(holder, 'scaleIO');
  if (scale !== undefined) {
    setDefault(scale, 'storageMode', 'ThinProvisioned');
    setDefault(scale, 'fsType', 'xfs');
  }
}
