import { decodeDetailed } from '../../../../apimachinery/json/decode.js';
import type { JsonObject } from '../../../../apimachinery/json/json.js';
import { requireSchema } from '../../../../apimachinery/scheme/builtin-schema.js';
import { applyPersistentVolumeDefaults, persistentVolumeErrors } from './strategy.js';

const LONG = 'a'.repeat(70);
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** The errors that kube-apiserver returns. */
const CASES: readonly (readonly [JsonObject, readonly string[]])[] = [
  [{}, ['spec: Required value: must specify a volume type']],
  [{ rbd: {} }, ['spec.rbd.monitors: Required value', 'spec.rbd.image: Required value']],
  [{ rbd: { monitors: ['a'], image: '' } }, ['spec.rbd.image: Required value']],
  [{ fc: {} }, ['spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both']],
  [
    { fc: { targetWWNs: ['a', 'b'], wwids: ['b'] } },
    [
      'spec.fc.targetWWNs: Invalid value: ["a","b"]: targetWWNs and wwids can not be specified simultaneously',
      'spec.fc.lun: Required value: lun is required if targetWWNs is specified',
    ],
  ],
  [{ fc: { targetWWNs: ['a'], lun: 256 } }, ['spec.fc.lun: Invalid value: 256: must be between 0 and 255, inclusive']],
  [{ fc: { targetWWNs: ['a'], lun: -1 } }, ['spec.fc.lun: Invalid value: -1: must be between 0 and 255, inclusive']],
  [
    { gcePersistentDisk: { pdName: '', partition: 300 } },
    [
      'spec.persistentDisk.pdName: Required value',
      'spec.persistentDisk.partition: Invalid value: 300: must be between 1 and 255, inclusive',
    ],
  ],
  [
    { awsElasticBlockStore: { volumeID: '', partition: -1 } },
    [
      'spec.awsElasticBlockStore.volumeID: Required value',
      'spec.awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive',
    ],
  ],
  [
    { glusterfs: { endpoints: '', path: '', endpointsNamespace: '' } },
    [
      'spec.glusterfs.endpoints: Required value',
      'spec.glusterfs.path: Required value',
      'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
    ],
  ],
  [
    { glusterfs: { endpoints: 'a', path: 'b', endpointsNamespace: 'A.b' } },
    [`spec.glusterfs.endpointsNamespace: Invalid value: "A.b": ${LABEL}`],
  ],
  [{ flocker: {} }, ['spec.flocker: Required value: one of datasetName and datasetUUID is required']],
  [
    { flocker: { datasetName: 'a/b', datasetUUID: 'c' } },
    [
      'spec.flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
      'spec.flocker.datasetName: Invalid value: "a/b": must not contain \'/\'',
    ],
  ],
  [
    { nfs: { server: '', path: '' } },
    [
      'spec.nfs.server: Required value',
      'spec.nfs.path: Required value',
      'spec.nfs.path: Invalid value: "": must be an absolute path',
    ],
  ],
  [
    { quobyte: { registry: '', volume: '' } },
    [
      'spec.quobyte.registry: Required value: must be a host:port pair or multiple pairs separated by commas',
      'spec.quobyte.volume: Required value',
    ],
  ],
  [
    { quobyte: { registry: 'a:1,b', volume: 'v' } },
    ['spec.quobyte.registry: Invalid value: "a:1,b": must be a host:port pair or multiple pairs separated by commas'],
  ],
  [
    { quobyte: { registry: '[::1]:1,[a:2,::1:3', volume: 'v' } },
    [
      'spec.quobyte.registry: Invalid value: "[::1]:1,[a:2,::1:3": must be a host:port pair or multiple pairs separated by commas',
      'spec.quobyte.registry: Invalid value: "[::1]:1,[a:2,::1:3": must be a host:port pair or multiple pairs separated by commas',
    ],
  ],
  [
    { quobyte: { registry: 'a:1', volume: 'v', tenant: LONG } },
    ['spec.quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64 characters'],
  ],
  [{ cephfs: { monitors: [] } }, ['spec.cephfs.monitors: Required value']],
  [
    { iscsi: { targetPortal: '', iqn: '', lun: 0 } },
    ['spec.iscsi.targetPortal: Required value', 'spec.iscsi.iqn: Required value'],
  ],
  [
    {
      iscsi: {
        targetPortal: LONG,
        iqn: 'iqn.2001-04.com.example:storage',
        lun: 256,
        initiatorName: 'x',
        secretRef: {},
      },
    },
    [
      `spec.iscsi.targetportal: Invalid value: "${LONG}": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`,
      'spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive',
      'spec.iscsi.secretRef.name: Required value',
      'spec.iscsi.initiatorname: Invalid value: "x": must be valid format',
    ],
  ],
  [
    { iscsi: { targetPortal: 'a', iqn: 'iqn.x', lun: -3, chapAuthSession: true } },
    [
      'spec.iscsi.iqn: Invalid value: "iqn.x": must be valid format',
      'spec.iscsi.lun: Invalid value: -3: must be between 0 and 255, inclusive',
      'spec.iscsi.secretRef: Required value',
    ],
  ],
  [
    { iscsi: { targetPortal: 'a', iqn: 'naa.x', lun: 1, initiatorName: '' } },
    [
      'spec.iscsi.iqn: Invalid value: "naa.x": must be valid format',
      'spec.iscsi.initiatorname: Invalid value: "": must be valid format',
    ],
  ],
  [{ iscsi: { targetPortal: 'a', iqn: 'eui.0123456789abcdef', lun: 1, initiatorName: 'iqn.iqn.2001-04.a:b' } }, []],
  [
    { cinder: { volumeID: '', secretRef: {} } },
    [
      'spec.cinder.volumeID: Required value',
      'spec.cinder.secretRef.name: Required value',
      'spec.cinder.secretRef.namespace: Required value',
    ],
  ],
  [
    { flexVolume: { driver: '', options: { 'kubernetes.io/a': 'b', 'a.K8S.io': 'c', 'xk8s.io': 'd' } } },
    [
      'spec.flexVolume.driver: Required value',
      'spec.flexVolume.options[a.K8S.io]: Invalid value: "a.K8S.io": kubernetes.io and k8s.io namespaces are reserved',
      'spec.flexVolume.options[kubernetes.io/a]: Invalid value: "kubernetes.io/a": kubernetes.io and k8s.io namespaces are reserved',
    ],
  ],
  [
    { azureFile: { secretName: '', shareName: '', secretNamespace: '' } },
    [
      'spec.azureFile.secretName: Required value',
      'spec.azureFile.shareName: Required value',
      'spec.azureFile.secretNamespace: Required value',
    ],
  ],
  [{ vsphereVolume: { volumePath: '' } }, ['spec.vsphereVolume.volumePath: Required value']],
  [{ photonPersistentDisk: { pdID: '' } }, ['spec.photonPersistentDisk.pdID: Required value']],
  [{ portworxVolume: { volumeID: '' } }, ['spec.portworxVolume.volumeID: Required value']],
  [
    { azureDisk: { diskName: '', diskURI: '', cachingMode: 'x', kind: 'y' } },
    [
      'spec.azureDisk.diskName: Required value',
      'spec.azureDisk.diskURI: Required value',
      'spec.azureDisk.cachingMode: Unsupported value: "x": supported values: "None", "ReadOnly", "ReadWrite"',
      'spec.azureDisk.kind: Unsupported value: "y": supported values: "Dedicated", "Managed", "Shared"',
      'spec.azureDisk.diskURI: Unsupported value: "": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
    ],
  ],
  [
    { azureDisk: { diskName: 'a', diskURI: 'b', kind: 'Managed' } },
    [
      'spec.azureDisk.diskURI: Unsupported value: "b": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
    ],
  ],
  [
    { azureDisk: { diskName: 'a', diskURI: 'b' } },
    [
      'spec.azureDisk.diskURI: Unsupported value: "b": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
    ],
  ],
  [
    { scaleIO: { gateway: '', system: '' } },
    [
      'spec.scaleIO.gateway: Required value',
      'spec.scaleIO.system: Required value',
      'spec.scaleIO.volumeName: Required value',
    ],
  ],
  [{ scaleIO: { gateway: 'a', system: 'b', volumeName: 'c', secretRef: {} } }, []],
  [
    { local: { path: '' } },
    ['spec.local.path: Required value', 'spec.nodeAffinity: Required value: Local volume requires node affinity'],
  ],
  [
    { local: { path: '/a/../b' } },
    [
      'spec.local.path: Invalid value: "/a/../b": must not contain \'..\'',
      'spec.nodeAffinity: Required value: Local volume requires node affinity',
    ],
  ],
  [{ storageos: {} }, ['spec.storageos.volumeName: Required value']],
  [
    { storageos: { volumeName: 'A', volumeNamespace: 'B.c', secretRef: {} } },
    [
      `spec.storageos.volumeName: Invalid value: "A": ${LABEL}`,
      `spec.storageos.volumeNamespace: Invalid value: "B.c": ${LABEL}`,
      'spec.storageos.secretRef.name: Required value',
      'spec.storageos.secretRef.namespace: Required value',
    ],
  ],
  [
    { csi: { driver: '', volumeHandle: '' } },
    ['spec.csi.driver: Required value', 'spec.csi.volumeHandle: Required value'],
  ],
  [
    {
      csi: {
        driver: `${LONG}_`,
        volumeHandle: 'v',
        controllerExpandSecretRef: {},
        nodePublishSecretRef: { name: 'A', namespace: 'a.b' },
      },
    },
    [
      'spec.csi.driver: Too long: may not be more than 63 bytes',
      `spec.csi.driver: Invalid value: "${LONG}_": ${SUBDOMAIN}`,
      'spec.csi.controllerExpandSecretRef.name: Required value',
      'spec.csi.controllerExpandSecretRef.namespace: Required value',
      `spec.csi.nodePublishSecretRef.name: Invalid value: "A": ${SUBDOMAIN}`,
      'spec.csi.nodePublishSecretRef.namespace: Invalid value: "a.b": must not contain dots',
    ],
  ],
  [{ csi: { driver: 'UP.er', volumeHandle: 'v' } }, []],
  [
    { csi: { driver: '', volumeHandle: '' }, rbd: {}, cephfs: {}, fc: {}, flexVolume: {}, gcePersistentDisk: {} },
    [
      'spec.persistentDisk.pdName: Required value',
      'spec.rbd: Forbidden: may not specify more than 1 volume type',
      'spec.cephFS: Forbidden: may not specify more than 1 volume type',
      'spec.fc: Forbidden: may not specify more than 1 volume type',
      'spec.flexVolume.driver: Required value',
      'spec.csi: Forbidden: may not specify more than 1 volume type',
    ],
  ],
  [
    { cephfs: {}, nfs: {}, hostPath: { path: '/a/../b' } },
    [
      'spec.hostPath.path: Invalid value: "/a/../b": must not contain \'..\'',
      'spec.nfs: Forbidden: may not specify more than 1 volume type',
      'spec.cephFS: Forbidden: may not specify more than 1 volume type',
    ],
  ],
  [
    { hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' },
    ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
  ],
  [
    { hostPath: { path: '//' }, persistentVolumeReclaimPolicy: 'Recycle' },
    ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
  ],
  [
    { hostPath: { path: '/./' }, persistentVolumeReclaimPolicy: 'Recycle', storageClassName: '_' },
    [
      "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      `spec.storageClassName: Invalid value: "_": ${SUBDOMAIN}`,
    ],
  ],
  [{ hostPath: { path: '' }, persistentVolumeReclaimPolicy: 'Recycle' }, ['spec.hostPath.path: Required value']],
  [{ hostPath: { path: '.' }, persistentVolumeReclaimPolicy: 'Recycle' }, []],
];

test.each(CASES)('%j', (given, expected) => {
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'a-volume' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...given },
  };
  const schema = requireSchema('', 'v1', 'PersistentVolume');
  const { object } = schema.decode(decodeDetailed(JSON.stringify(volume), { strict: true }), true);
  applyPersistentVolumeDefaults(object);
  expect(persistentVolumeErrors(object).map(String)).toEqual(expected);
});

test('the number of errors about one long value is bounded', () => {
  const spec = { quobyte: { registry: ','.repeat(50_000), volume: 'v' } };
  const object = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'a' }, spec };
  const errors = persistentVolumeErrors(object).filter((error) => error.field === 'spec.quobyte.registry');
  expect(errors).toHaveLength(3);
});

test.each([
  ['azureDisk', { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false }],
  ['scaleIO', { fsType: 'xfs', storageMode: 'ThinProvisioned' }],
])('sets the defaults of %s', (source, expected) => {
  const object = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'a' }, spec: { [source]: {} } };
  applyPersistentVolumeDefaults(object);
  expect(object.spec[source]).toEqual(expected);
});
