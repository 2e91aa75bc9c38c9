/** When a version of a built-in type was deprecated and removed, and its replacements. */
export interface Lifecycle {
  readonly deprecated: string;
  /** The first release that does not serve it; undefined if no removal is planned. */
  readonly removed: string | undefined;
  /** The replacements and since when they are served; the best first. */
  readonly replacements: readonly Replacement[];
}

export interface Replacement {
  readonly apiVersion: string;
  readonly kind: string;
  readonly since: string;
}

/**
 * Rows of version, kinds, deprecated, removed (`-`: not planned), and replacements as `VERSION@SINCE`, with `:KIND` if the kind differs.
 * Taken from the lifecycles that Kubernetes declares for its own types; the first rows are alpha versions that were removed before it
 * declared any, taken from its release notes.
 */
const TABLE = `
auditregistration.k8s.io/v1alpha1 AuditSink 1.18 1.19
batch/v2alpha1 CronJob 1.8 1.21 batch/v1@1.21 batch/v1beta1@1.8
networking.k8s.io/v1alpha1 IPAddress,ServiceCIDR 1.30 1.31 networking.k8s.io/v1@1.33 networking.k8s.io/v1beta1@1.31
node.k8s.io/v1alpha1 RuntimeClass 1.20 1.24 node.k8s.io/v1@1.20
rbac.authorization.k8s.io/v1alpha1 ClusterRole,ClusterRoleBinding,Role,RoleBinding 1.8 1.23 rbac.authorization.k8s.io/v1@1.8
scheduling.k8s.io/v1alpha1 PriorityClass 1.14 1.23 scheduling.k8s.io/v1@1.14
settings.k8s.io/v1alpha1 PodPreset 1.19 1.20
admission.k8s.io/v1beta1 AdmissionReview 1.19 1.22 admission.k8s.io/v1@1.16
admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy,MutatingAdmissionPolicyBinding 1.35 1.38 admissionregistration.k8s.io/v1@1.36
admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy,ValidatingAdmissionPolicyBinding 1.29 1.32 admissionregistration.k8s.io/v1@1.30
admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy,MutatingAdmissionPolicyBinding 1.37 1.40 admissionregistration.k8s.io/v1@1.36
admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration,ValidatingWebhookConfiguration 1.16 1.22 admissionregistration.k8s.io/v1@1.16
admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy,ValidatingAdmissionPolicyBinding 1.31 1.34 admissionregistration.k8s.io/v1@1.30
apidiscovery.k8s.io/v2beta1 APIGroupDiscovery 1.32 1.35 apidiscovery.k8s.io/v2@1.30
apiextensions.k8s.io/v1beta1 CustomResourceDefinition 1.16 1.22 apiextensions.k8s.io/v1@1.16
apiregistration.k8s.io/v1beta1 APIService 1.19 1.22 apiregistration.k8s.io/v1@1.10
apps/v1beta1 ControllerRevision,Deployment,ReplicaSet,StatefulSet 1.8 1.16 apps/v1@1.9
apps/v1beta1 DeploymentRollback 1.8 1.16
apps/v1beta1 Scale 1.8 1.16 autoscaling/v1@1.2
apps/v1beta2 ControllerRevision,DaemonSet,Deployment,ReplicaSet,StatefulSet 1.9 1.16 apps/v1@1.9
apps/v1beta2 Scale 1.9 1.16 autoscaling/v1@1.2
authentication.k8s.io/v1alpha1 SelfSubjectReview 1.29 1.32 authentication.k8s.io/v1@1.28
authentication.k8s.io/v1beta1 SelfSubjectReview 1.30 1.33 authentication.k8s.io/v1@1.28
authentication.k8s.io/v1beta1 TokenReview 1.19 1.22 authentication.k8s.io/v1@1.6
authorization.k8s.io/v1beta1 LocalSubjectAccessReview,SelfSubjectAccessReview,SelfSubjectRulesReview,SubjectAccessReview 1.19 1.22 authorization.k8s.io/v1@1.6
autoscaling/v2beta1 HorizontalPodAutoscaler 1.22 1.25 autoscaling/v2@1.23 autoscaling/v2beta2@1.12
autoscaling/v2beta2 HorizontalPodAutoscaler 1.23 1.26 autoscaling/v2@1.23
batch/v1beta1 CronJob 1.21 1.25 batch/v1@1.21
certificates.k8s.io/v1alpha1 ClusterTrustBundle 1.34 1.37 certificates.k8s.io/v1beta1@1.33
certificates.k8s.io/v1beta1 CertificateSigningRequest 1.19 1.22 certificates.k8s.io/v1@1.19
certificates.k8s.io/v1beta1 ClusterTrustBundle 1.37 1.40
certificates.k8s.io/v1beta1 PodCertificateRequest 1.38 1.41
coordination.k8s.io/v1alpha2 LeaseCandidate 1.35 1.38 coordination.k8s.io/v1beta1@1.33
coordination.k8s.io/v1beta1 Lease 1.19 1.22 coordination.k8s.io/v1@1.14
coordination.k8s.io/v1beta1 LeaseCandidate 1.36 1.39
discovery.k8s.io/v1beta1 EndpointSlice 1.21 1.25 discovery.k8s.io/v1@1.21
events.k8s.io/v1beta1 Event 1.22 1.25 events.k8s.io/v1@1.19
extensions/v1beta1 DaemonSet,Deployment,ReplicaSet 1.8 1.16 apps/v1@1.9
extensions/v1beta1 DeploymentRollback 1.8 1.16
extensions/v1beta1 Ingress 1.14 1.22 networking.k8s.io/v1@1.19
extensions/v1beta1 NetworkPolicy 1.9 1.16 networking.k8s.io/v1@1.8
extensions/v1beta1 Scale 1.2 1.16 autoscaling/v1@1.2
extensions/v1beta1 PodSecurityPolicy 1.11 1.16 policy/v1beta1@1.10
flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema,PriorityLevelConfiguration 1.23 1.26 flowcontrol.apiserver.k8s.io/v1@1.29 flowcontrol.apiserver.k8s.io/v1beta3@1.26 flowcontrol.apiserver.k8s.io/v1beta2@1.23
flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema,PriorityLevelConfiguration 1.26 1.29 flowcontrol.apiserver.k8s.io/v1@1.29 flowcontrol.apiserver.k8s.io/v1beta3@1.26
flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema,PriorityLevelConfiguration 1.29 1.32 flowcontrol.apiserver.k8s.io/v1@1.29
networking.k8s.io/v1beta1 IPAddress,ServiceCIDR 1.34 1.37 networking.k8s.io/v1@1.33
networking.k8s.io/v1beta1 Ingress,IngressClass 1.19 1.22 networking.k8s.io/v1@1.19
node.k8s.io/v1beta1 RuntimeClass 1.22 1.25 node.k8s.io/v1@1.20
policy/v1beta1 Eviction 1.22 1.25 policy/v1@1.22
policy/v1beta1 PodDisruptionBudget 1.21 1.25 policy/v1@1.21
policy/v1beta1 PodSecurityPolicy 1.21 1.25
rbac.authorization.k8s.io/v1beta1 ClusterRole,ClusterRoleBinding,Role,RoleBinding 1.17 1.22 rbac.authorization.k8s.io/v1@1.8
resource.k8s.io/v1alpha3 DeviceTaintRule 1.36 1.39 resource.k8s.io/v1beta2@1.36
resource.k8s.io/v1alpha3 ResourcePoolStatusRequest 1.39 1.42
resource.k8s.io/v1beta1 DeviceClass,ResourceClaim,ResourceClaimTemplate,ResourceSlice 1.35 1.38 resource.k8s.io/v1@1.34
resource.k8s.io/v1beta2 DeviceClass,ResourceClaim,ResourceClaimTemplate,ResourceSlice 1.36 1.39 resource.k8s.io/v1@1.34
resource.k8s.io/v1beta2 DeviceTaintRule 1.39 1.42
scheduling.k8s.io/v1beta1 PriorityClass 1.14 1.22 scheduling.k8s.io/v1@1.14
storage.k8s.io/v1alpha1 CSIStorageCapacity 1.21 1.24 storage.k8s.io/v1@1.24
storage.k8s.io/v1alpha1 VolumeAttachment 1.21 1.24 storage.k8s.io/v1@1.13
storage.k8s.io/v1alpha1 VolumeAttributesClass 1.32 1.35 storage.k8s.io/v1@1.34
storage.k8s.io/v1beta1 CSIDriver 1.19 1.22 storage.k8s.io/v1@1.19
storage.k8s.io/v1beta1 CSINode 1.17 1.22 storage.k8s.io/v1@1.17
storage.k8s.io/v1beta1 CSIStorageCapacity 1.24 1.27 storage.k8s.io/v1@1.24
storage.k8s.io/v1beta1 StorageClass 1.19 1.22 storage.k8s.io/v1@1.6
storage.k8s.io/v1beta1 VolumeAttachment 1.19 1.22 storage.k8s.io/v1@1.13
storage.k8s.io/v1beta1 VolumeAttributesClass 1.34 1.37 storage.k8s.io/v1@1.34
storagemigration.k8s.io/v1beta1 StorageVersionMigration 1.38 1.41
v1 Endpoints 1.33 -    discovery.k8s.io/v1@1.21:EndpointSlice
`;

const byType = new Map<string, Lifecycle>();
for (const row of TABLE.trim().split('\n')) {
  const [apiVersion = '', kinds = '', deprecated = '', removed = '', ...replacements] = row.split(/ +/);
  for (const kind of kinds.split(',')) {
    byType.set(`${apiVersion} ${kind}`, {
      deprecated,
      removed: removed === '-' ? undefined : removed,
      replacements: replacements.map((text) => {
        const [version = '', since = '', other = kind] = text.split(/[@:]/);
        return { apiVersion: version, kind: other, since };
      }),
    });
  }
}

export const lifecycleOf = (apiVersion: string, kind: string): Lifecycle | undefined =>
  byType.get(`${apiVersion} ${kind}`);

/** Returns the minor version of a release of Kubernetes, such as `1.32` or `v1.32.4`; undefined if the text is not a release. */
export function minorOf(release: string): number | undefined {
  const match = /^v?1\.(\d{1,3})(?:\.\d+)?$/.exec(release);
  return match === null ? undefined : Number(match[1]);
}
