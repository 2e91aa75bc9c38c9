import type { JsonObject } from '../../apimachinery/json/json.js';

const emptyDefinition = (): JsonObject => ({
  spec: { group: '', names: { plural: '', kind: '' }, scope: '', versions: null },
  status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null },
});

/** Fields that an empty object of a built-in type prints because their Go fields lack omitempty. Types not listed print none. */
const emptyFields: Readonly<Record<string, () => JsonObject>> = {
  'v1/Namespace': () => ({ spec: {}, status: {} }),
  'v1/Pod': () => ({ spec: { containers: null }, status: {} }),
  'v1/Node': () => ({
    spec: {},
    status: {
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: {
        machineID: '',
        systemUUID: '',
        bootID: '',
        kernelVersion: '',
        osImage: '',
        containerRuntimeVersion: '',
        kubeletVersion: '',
        kubeProxyVersion: '',
        operatingSystem: '',
        architecture: '',
      },
    },
  }),
  'v1/Service': () => ({ spec: {}, status: { loadBalancer: {} } }),
  'v1/PersistentVolume': () => ({ spec: {}, status: {} }),
  'v1/PersistentVolumeClaim': () => ({ spec: { resources: {} }, status: {} }),
  'v1/ResourceQuota': () => ({ spec: {}, status: {} }),
  'v1/Event': () => ({
    involvedObject: {},
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: '',
    reportingInstance: '',
  }),
  'events.k8s.io/v1/Event': () => ({
    eventTime: null,
    regarding: {},
    deprecatedSource: {},
    deprecatedFirstTimestamp: null,
    deprecatedLastTimestamp: null,
  }),
  'coordination.k8s.io/v1/Lease': () => ({ spec: {} }),
  'certificates.k8s.io/v1/CertificateSigningRequest': () => ({ spec: { request: null, signerName: '' }, status: {} }),
  'rbac.authorization.k8s.io/v1/Role': () => ({ rules: null }),
  'rbac.authorization.k8s.io/v1/ClusterRole': () => ({ rules: null }),
  'rbac.authorization.k8s.io/v1/RoleBinding': () => ({ roleRef: { apiGroup: '', kind: '', name: '' } }),
  'rbac.authorization.k8s.io/v1/ClusterRoleBinding': () => ({ roleRef: { apiGroup: '', kind: '', name: '' } }),
  'apiextensions.k8s.io/v1/CustomResourceDefinition': emptyDefinition,
  'kubeannex.io/v1/ResourceDefinition': emptyDefinition,
  'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy': () => ({ spec: {}, status: {} }),
  'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding': () => ({ spec: {} }),
  'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy': () => ({ spec: {} }),
  'admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding': () => ({ spec: {} }),
};

const nothing: JsonObject = {};

/** Returns the fields of an empty object of a built-in type, given as `group/version/kind`. */
export const emptyFieldsOf = (type: string): JsonObject => emptyFields[type]?.() ?? nothing;
