// Made by hack/declarations.mjs from data/ (make data). Not to be edited.
import type { JsonObject } from '../json/json.js';
import type { KubeObject, ObjectMeta } from '../meta/meta.js';
import type { Condition, LabelSelector } from './meta.js';

export interface AWSElasticBlockStoreVolumeSource extends JsonObject {
  volumeID?: string;
  fsType?: string;
  partition?: number;
  readOnly?: boolean;
}

export interface Affinity extends JsonObject {
  nodeAffinity?: NodeAffinity;
  podAffinity?: PodAffinity;
  podAntiAffinity?: PodAntiAffinity;
}

export interface AppArmorProfile extends JsonObject {
  type?: string;
  localhostProfile?: string;
}

export interface AttachedVolume extends JsonObject {
  name?: string;
  devicePath?: string;
}

export interface AzureDiskVolumeSource extends JsonObject {
  diskName?: string;
  diskURI?: string;
  cachingMode?: string;
  fsType?: string;
  readOnly?: boolean;
  kind?: string;
}

export interface AzureFilePersistentVolumeSource extends JsonObject {
  secretName?: string;
  shareName?: string;
  readOnly?: boolean;
  secretNamespace?: string | null;
}

export interface AzureFileVolumeSource extends JsonObject {
  secretName?: string;
  shareName?: string;
  readOnly?: boolean;
}

export interface CSIPersistentVolumeSource extends JsonObject {
  driver?: string;
  volumeHandle?: string;
  readOnly?: boolean;
  fsType?: string;
  volumeAttributes?: Record<string, string>;
  controllerPublishSecretRef?: SecretReference;
  nodeStageSecretRef?: SecretReference;
  nodePublishSecretRef?: SecretReference;
  controllerExpandSecretRef?: SecretReference;
  nodeExpandSecretRef?: SecretReference;
}

export interface CSIVolumeSource extends JsonObject {
  driver?: string;
  readOnly?: boolean;
  fsType?: string;
  volumeAttributes?: Record<string, string>;
  nodePublishSecretRef?: LocalObjectReference;
}

export interface Capabilities extends JsonObject {
  add?: string[];
  drop?: string[];
}

export interface CephFSPersistentVolumeSource extends JsonObject {
  monitors?: string[] | null;
  path?: string;
  user?: string;
  secretFile?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
}

export interface CephFSVolumeSource extends JsonObject {
  monitors?: string[] | null;
  path?: string;
  user?: string;
  secretFile?: string;
  secretRef?: LocalObjectReference;
  readOnly?: boolean;
}

export interface CinderPersistentVolumeSource extends JsonObject {
  volumeID?: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: SecretReference;
}

export interface CinderVolumeSource extends JsonObject {
  volumeID?: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
}

export interface ClientIPConfig extends JsonObject {
  timeoutSeconds?: number;
}

export interface ClusterTrustBundleProjection extends JsonObject {
  name?: string;
  signerName?: string;
  labelSelector?: LabelSelector;
  optional?: boolean;
  path?: string;
  user?: number | bigint;
}

export interface ConfigMap extends KubeObject {
  immutable?: boolean;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

export interface ConfigMapEnvSource extends JsonObject {
  name?: string;
  optional?: boolean;
}

export interface ConfigMapKeySelector extends JsonObject {
  name?: string;
  key?: string;
  optional?: boolean;
}

export interface ConfigMapNodeConfigSource extends JsonObject {
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  kubeletConfigKey?: string;
}

export interface ConfigMapProjection extends JsonObject {
  name?: string;
  items?: KeyToPath[];
  optional?: boolean;
}

export interface ConfigMapVolumeSource extends JsonObject {
  name?: string;
  items?: KeyToPath[];
  defaultMode?: number;
  optional?: boolean;
  defaultUser?: number | bigint;
}

export interface Container extends JsonObject {
  name?: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  ports?: ContainerPort[];
  envFrom?: EnvFromSource[];
  env?: EnvVar[];
  resources?: ResourceRequirements;
  resizePolicy?: ContainerResizePolicy[];
  restartPolicy?: string;
  restartPolicyRules?: ContainerRestartRule[];
  volumeMounts?: VolumeMount[];
  volumeDevices?: VolumeDevice[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: Lifecycle;
  terminationMessagePath?: string;
  terminationMessagePolicy?: string;
  imagePullPolicy?: string;
  securityContext?: SecurityContext;
  stdin?: boolean;
  stdinOnce?: boolean;
  tty?: boolean;
}

export interface ContainerExtendedResourceRequest extends JsonObject {
  containerName?: string;
  resourceName?: string;
  requestName?: string;
}

export interface ContainerImage extends JsonObject {
  names?: string[] | null;
  sizeBytes?: number | bigint;
}

export interface ContainerPort extends JsonObject {
  name?: string;
  hostPort?: number;
  containerPort?: number;
  protocol?: string;
  hostIP?: string;
}

export interface ContainerResizePolicy extends JsonObject {
  resourceName?: string;
  restartPolicy?: string;
}

export interface ContainerRestartRule extends JsonObject {
  action?: string;
  exitCodes?: ContainerRestartRuleOnExitCodes;
}

export interface ContainerRestartRuleOnExitCodes extends JsonObject {
  operator?: string;
  values?: number[];
}

export interface ContainerState extends JsonObject {
  waiting?: ContainerStateWaiting;
  running?: ContainerStateRunning;
  terminated?: ContainerStateTerminated;
}

export interface ContainerStateRunning extends JsonObject {
  startedAt?: string | null;
}

export interface ContainerStateTerminated extends JsonObject {
  exitCode?: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt?: string | null;
  finishedAt?: string | null;
  containerID?: string;
}

export interface ContainerStateWaiting extends JsonObject {
  reason?: string;
  message?: string;
}

export interface ContainerStatus extends JsonObject {
  name?: string;
  state?: ContainerState;
  lastState?: ContainerState;
  ready?: boolean;
  restartCount?: number;
  image?: string;
  imageID?: string;
  containerID?: string;
  started?: boolean;
  allocatedResources?: Record<string, string>;
  resources?: ResourceRequirements;
  volumeMounts?: VolumeMountStatus[];
  user?: ContainerUser;
  allocatedResourcesStatus?: ResourceStatus[];
  stopSignal?: string;
}

export interface ContainerUser extends JsonObject {
  linux?: LinuxContainerUser;
}

export interface DaemonEndpoint extends JsonObject {
  Port?: number;
}

export interface DownwardAPIProjection extends JsonObject {
  items?: DownwardAPIVolumeFile[];
}

export interface DownwardAPIVolumeFile extends JsonObject {
  path?: string;
  fieldRef?: ObjectFieldSelector;
  resourceFieldRef?: ResourceFieldSelector;
  mode?: number;
  user?: number | bigint;
}

export interface DownwardAPIVolumeSource extends JsonObject {
  items?: DownwardAPIVolumeFile[];
  defaultMode?: number;
  defaultUser?: number | bigint;
}

export interface EmptyDirVolumeSource extends JsonObject {
  medium?: string;
  sizeLimit?: string;
  mode?: number;
}

export interface EndpointAddress extends JsonObject {
  ip?: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
}

export interface EndpointPort extends JsonObject {
  name?: string;
  port?: number;
  protocol?: string;
  appProtocol?: string;
}

export interface EndpointSubset extends JsonObject {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointPort[];
}

export interface Endpoints extends KubeObject {
  subsets?: EndpointSubset[];
}

export interface EnvFromSource extends JsonObject {
  prefix?: string;
  configMapRef?: ConfigMapEnvSource;
  secretRef?: SecretEnvSource;
}

export interface EnvVar extends JsonObject {
  name?: string;
  value?: string;
  valueFrom?: EnvVarSource;
}

export interface EnvVarSource extends JsonObject {
  fieldRef?: ObjectFieldSelector;
  resourceFieldRef?: ResourceFieldSelector;
  configMapKeyRef?: ConfigMapKeySelector;
  secretKeyRef?: SecretKeySelector;
  fileKeyRef?: FileKeySelector;
}

export interface EphemeralContainer extends JsonObject {
  name?: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  ports?: ContainerPort[];
  envFrom?: EnvFromSource[];
  env?: EnvVar[];
  resources?: ResourceRequirements;
  resizePolicy?: ContainerResizePolicy[];
  restartPolicy?: string;
  restartPolicyRules?: ContainerRestartRule[];
  volumeMounts?: VolumeMount[];
  volumeDevices?: VolumeDevice[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: Lifecycle;
  terminationMessagePath?: string;
  terminationMessagePolicy?: string;
  imagePullPolicy?: string;
  securityContext?: SecurityContext;
  stdin?: boolean;
  stdinOnce?: boolean;
  tty?: boolean;
  targetContainerName?: string;
}

export interface EphemeralVolumeSource extends JsonObject {
  volumeClaimTemplate?: PersistentVolumeClaimTemplate;
}

export interface Event extends KubeObject {
  involvedObject?: ObjectReference;
  reason?: string;
  message?: string;
  source?: EventSource;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  count?: number;
  type?: string;
  eventTime?: string | null;
  series?: EventSeries;
  action?: string;
  related?: ObjectReference;
  reportingComponent?: string;
  reportingInstance?: string;
}

export interface EventSeries extends JsonObject {
  count?: number;
  lastObservedTime?: string | null;
}

export interface EventSource extends JsonObject {
  component?: string;
  host?: string;
}

export interface EvictionResponder extends JsonObject {
  name?: string;
  priority?: number | null;
}

export interface ExecAction extends JsonObject {
  command?: string[];
}

export interface FCVolumeSource extends JsonObject {
  targetWWNs?: string[];
  lun?: number;
  fsType?: string;
  readOnly?: boolean;
  wwids?: string[];
}

export interface FileKeySelector extends JsonObject {
  volumeName?: string;
  path?: string;
  key?: string;
  optional?: boolean;
}

export interface FlexPersistentVolumeSource extends JsonObject {
  driver?: string;
  fsType?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
  options?: Record<string, string>;
}

export interface FlexVolumeSource extends JsonObject {
  driver?: string;
  fsType?: string;
  secretRef?: LocalObjectReference;
  readOnly?: boolean;
  options?: Record<string, string>;
}

export interface FlockerVolumeSource extends JsonObject {
  datasetName?: string;
  datasetUUID?: string;
}

export interface GCEPersistentDiskVolumeSource extends JsonObject {
  pdName?: string;
  fsType?: string;
  partition?: number;
  readOnly?: boolean;
}

export interface GRPCAction extends JsonObject {
  port?: number;
  service?: string | null;
  mode?: string;
}

export interface GitRepoVolumeSource extends JsonObject {
  repository?: string;
  revision?: string;
  directory?: string;
}

export interface GlusterfsPersistentVolumeSource extends JsonObject {
  endpoints?: string;
  path?: string;
  readOnly?: boolean;
  endpointsNamespace?: string;
}

export interface GlusterfsVolumeSource extends JsonObject {
  endpoints?: string;
  path?: string;
  readOnly?: boolean;
}

export interface HTTPGetAction extends JsonObject {
  path?: string;
  port?: number | string;
  host?: string;
  scheme?: string;
  httpHeaders?: HTTPHeader[];
  protocol?: string;
}

export interface HTTPHeader extends JsonObject {
  name?: string;
  value?: string;
}

export interface HostAlias extends JsonObject {
  ip?: string;
  hostnames?: string[];
}

export interface HostIP extends JsonObject {
  ip?: string;
}

export interface HostPathVolumeSource extends JsonObject {
  path?: string;
  type?: string;
}

export interface ISCSIPersistentVolumeSource extends JsonObject {
  targetPortal?: string;
  iqn?: string;
  lun?: number;
  iscsiInterface?: string;
  fsType?: string;
  readOnly?: boolean;
  portals?: string[];
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  secretRef?: SecretReference;
  initiatorName?: string;
}

export interface ISCSIVolumeSource extends JsonObject {
  targetPortal?: string;
  iqn?: string;
  lun?: number;
  iscsiInterface?: string;
  fsType?: string;
  readOnly?: boolean;
  portals?: string[];
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  secretRef?: LocalObjectReference;
  initiatorName?: string;
}

export interface ImageVolumeSource extends JsonObject {
  reference?: string;
  pullPolicy?: string;
}

export interface ImageVolumeStatus extends JsonObject {
  imageRef?: string;
}

export interface KeyToPath extends JsonObject {
  key?: string;
  path?: string;
  mode?: number;
  user?: number | bigint;
}

export interface Lifecycle extends JsonObject {
  postStart?: LifecycleHandler;
  preStop?: LifecycleHandler;
  stopSignal?: string;
}

export interface LifecycleHandler extends JsonObject {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  tcpSocket?: TCPSocketAction;
  sleep?: SleepAction;
}

export interface LinuxContainerUser extends JsonObject {
  uid?: number | bigint;
  gid?: number | bigint;
  supplementalGroups?: (number | bigint)[];
}

export interface LoadBalancerIngress extends JsonObject {
  ip?: string;
  hostname?: string;
  ipMode?: string;
  ports?: PortStatus[];
}

export interface LoadBalancerStatus extends JsonObject {
  ingress?: LoadBalancerIngress[];
}

export interface LocalObjectReference extends JsonObject {
  name?: string;
}

export interface LocalVolumeSource extends JsonObject {
  path?: string;
  fsType?: string;
}

export interface ModifyVolumeStatus extends JsonObject {
  targetVolumeAttributesClassName?: string;
  status?: string;
}

export interface NFSVolumeSource extends JsonObject {
  server?: string;
  path?: string;
  readOnly?: boolean;
}

export interface Namespace extends KubeObject {
  spec?: NamespaceSpec;
  status?: NamespaceStatus;
}

export interface NamespaceCondition extends JsonObject {
  type?: string;
  status?: string;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export interface NamespaceSpec extends JsonObject {
  finalizers?: string[];
}

export interface NamespaceStatus extends JsonObject {
  phase?: string;
  conditions?: NamespaceCondition[];
}

export interface Node extends KubeObject {
  spec?: NodeSpec;
  status?: NodeStatus;
}

export interface NodeAddress extends JsonObject {
  type?: string;
  address?: string;
}

export interface NodeAffinity extends JsonObject {
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[];
}

export interface NodeAllocatableMappedResources extends JsonObject {
  name?: string;
  quantity?: string | null;
}

export interface NodeAllocatableOverheadResources extends JsonObject {
  name?: string;
  perPod?: string;
  perContainer?: string;
}

export interface NodeAllocatableResourceClaimStatus extends JsonObject {
  resourceClaimName?: string;
  containers?: string[];
  mapping?: NodeAllocatableMappedResources[];
  overhead?: NodeAllocatableOverheadResources[];
}

export interface NodeCondition extends JsonObject {
  type?: string;
  status?: string;
  lastHeartbeatTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export interface NodeConfigSource extends JsonObject {
  configMap?: ConfigMapNodeConfigSource;
}

export interface NodeConfigStatus extends JsonObject {
  assigned?: NodeConfigSource;
  active?: NodeConfigSource;
  lastKnownGood?: NodeConfigSource;
  error?: string;
}

export interface NodeDaemonEndpoints extends JsonObject {
  kubeletEndpoint?: DaemonEndpoint;
}

export interface NodeFeatures extends JsonObject {
  supplementalGroupsPolicy?: boolean;
}

export interface NodePodPreemptionPolicy extends JsonObject {
  disableResizePreemption?: string[];
}

export interface NodeRuntimeHandler extends JsonObject {
  name?: string;
  features?: NodeRuntimeHandlerFeatures;
}

export interface NodeRuntimeHandlerFeatures extends JsonObject {
  recursiveReadOnlyMounts?: boolean;
  userNamespaces?: boolean;
}

export interface NodeSelector extends JsonObject {
  nodeSelectorTerms?: NodeSelectorTerm[] | null;
}

export interface NodeSelectorRequirement extends JsonObject {
  key?: string;
  operator?: string;
  values?: string[];
}

export interface NodeSelectorTerm extends JsonObject {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
}

export interface NodeSpec extends JsonObject {
  podCIDR?: string;
  podCIDRs?: string[];
  providerID?: string;
  unschedulable?: boolean;
  taints?: Taint[];
  configSource?: NodeConfigSource;
  externalID?: string;
  podPreemptionPolicy?: NodePodPreemptionPolicy;
}

export interface NodeStatus extends JsonObject {
  capacity?: Record<string, string>;
  allocatable?: Record<string, string>;
  phase?: string;
  conditions?: NodeCondition[];
  addresses?: NodeAddress[];
  daemonEndpoints?: NodeDaemonEndpoints;
  nodeInfo?: NodeSystemInfo;
  images?: ContainerImage[];
  volumesInUse?: string[];
  volumesAttached?: AttachedVolume[];
  config?: NodeConfigStatus;
  runtimeHandlers?: NodeRuntimeHandler[];
  features?: NodeFeatures;
  declaredFeatures?: string[];
}

export interface NodeSwapStatus extends JsonObject {
  capacity?: number | bigint;
}

export interface NodeSystemInfo extends JsonObject {
  machineID?: string;
  systemUUID?: string;
  bootID?: string;
  kernelVersion?: string;
  osImage?: string;
  containerRuntimeVersion?: string;
  kubeletVersion?: string;
  kubeProxyVersion?: string;
  operatingSystem?: string;
  architecture?: string;
  swap?: NodeSwapStatus;
  runningInUserNamespace?: boolean;
}

export interface ObjectFieldSelector extends JsonObject {
  apiVersion?: string;
  fieldPath?: string;
}

export interface ObjectReference extends JsonObject {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  apiVersion?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

export interface PersistentVolume extends KubeObject {
  spec?: PersistentVolumeSpec;
  status?: PersistentVolumeStatus;
}

export interface PersistentVolumeClaim extends KubeObject {
  spec?: PersistentVolumeClaimSpec;
  status?: PersistentVolumeClaimStatus;
}

export interface PersistentVolumeClaimCondition extends JsonObject {
  type?: string;
  status?: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export interface PersistentVolumeClaimSpec extends JsonObject {
  accessModes?: string[];
  selector?: LabelSelector;
  resources?: VolumeResourceRequirements;
  volumeName?: string;
  storageClassName?: string;
  volumeMode?: string;
  dataSource?: TypedLocalObjectReference;
  dataSourceRef?: TypedObjectReference;
  volumeAttributesClassName?: string;
}

export interface PersistentVolumeClaimStatus extends JsonObject {
  phase?: string;
  accessModes?: string[];
  capacity?: Record<string, string>;
  conditions?: PersistentVolumeClaimCondition[];
  allocatedResources?: Record<string, string>;
  allocatedResourceStatuses?: Record<string, string>;
  currentVolumeAttributesClassName?: string;
  modifyVolumeStatus?: ModifyVolumeStatus;
  healthStatus?: VolumeHealthStatus;
}

export interface PersistentVolumeClaimTemplate extends JsonObject {
  metadata?: ObjectMeta;
  spec?: PersistentVolumeClaimSpec;
}

export interface PersistentVolumeClaimVolumeSource extends JsonObject {
  claimName?: string;
  readOnly?: boolean;
}

export interface PersistentVolumeSpec extends JsonObject {
  capacity?: Record<string, string>;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  hostPath?: HostPathVolumeSource;
  glusterfs?: GlusterfsPersistentVolumeSource;
  nfs?: NFSVolumeSource;
  rbd?: RBDPersistentVolumeSource;
  iscsi?: ISCSIPersistentVolumeSource;
  cinder?: CinderPersistentVolumeSource;
  cephfs?: CephFSPersistentVolumeSource;
  fc?: FCVolumeSource;
  flocker?: FlockerVolumeSource;
  flexVolume?: FlexPersistentVolumeSource;
  azureFile?: AzureFilePersistentVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  quobyte?: QuobyteVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  scaleIO?: ScaleIOPersistentVolumeSource;
  local?: LocalVolumeSource;
  storageos?: StorageOSPersistentVolumeSource;
  csi?: CSIPersistentVolumeSource;
  accessModes?: string[];
  claimRef?: ObjectReference;
  persistentVolumeReclaimPolicy?: string;
  storageClassName?: string;
  mountOptions?: string[];
  volumeMode?: string;
  nodeAffinity?: VolumeNodeAffinity;
  volumeAttributesClassName?: string;
}

export interface PersistentVolumeStatus extends JsonObject {
  phase?: string;
  message?: string;
  reason?: string;
  lastPhaseTransitionTime?: string;
}

export interface PhotonPersistentDiskVolumeSource extends JsonObject {
  pdID?: string;
  fsType?: string;
}

export interface Pod extends KubeObject {
  spec?: PodSpec;
  status?: PodStatus;
}

export interface PodAffinity extends JsonObject {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

export interface PodAffinityTerm extends JsonObject {
  labelSelector?: LabelSelector;
  namespaces?: string[];
  topologyKey?: string;
  namespaceSelector?: LabelSelector;
  matchLabelKeys?: string[];
  mismatchLabelKeys?: string[];
}

export interface PodAntiAffinity extends JsonObject {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

export interface PodCertificateProjection extends JsonObject {
  signerName?: string;
  keyType?: string;
  maxExpirationSeconds?: number;
  credentialBundlePath?: string;
  keyPath?: string;
  certificateChainPath?: string;
  userAnnotations?: Record<string, string>;
  user?: number | bigint;
}

export interface PodCondition extends JsonObject {
  type?: string;
  observedGeneration?: number | bigint;
  status?: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export interface PodDNSConfig extends JsonObject {
  nameservers?: string[];
  searches?: string[];
  options?: PodDNSConfigOption[];
}

export interface PodDNSConfigOption extends JsonObject {
  name?: string;
  value?: string;
}

export interface PodExtendedResourceClaimStatus extends JsonObject {
  requestMappings?: ContainerExtendedResourceRequest[] | null;
  resourceClaimName?: string;
}

export interface PodIP extends JsonObject {
  ip?: string;
}

export interface PodOS extends JsonObject {
  name?: string;
}

export interface PodReadinessGate extends JsonObject {
  conditionType?: string;
}

export interface PodResourceClaim extends JsonObject {
  name?: string;
  resourceClaimName?: string;
  resourceClaimTemplateName?: string;
}

export interface PodResourceClaimStatus extends JsonObject {
  name?: string;
  resourceClaimName?: string;
}

export interface PodSchedulingGate extends JsonObject {
  name?: string;
}

export interface PodSchedulingGroup extends JsonObject {
  podGroupName?: string;
}

export interface PodSecurityContext extends JsonObject {
  seLinuxOptions?: SELinuxOptions;
  windowsOptions?: WindowsSecurityContextOptions;
  runAsUser?: number | bigint;
  runAsGroup?: number | bigint;
  runAsNonRoot?: boolean;
  supplementalGroups?: (number | bigint)[];
  supplementalGroupsPolicy?: string;
  fsGroup?: number | bigint;
  sysctls?: Sysctl[];
  fsGroupChangePolicy?: string;
  seccompProfile?: SeccompProfile;
  appArmorProfile?: AppArmorProfile;
  seLinuxChangePolicy?: string;
}

export interface PodSpec extends JsonObject {
  volumes?: Volume[];
  initContainers?: Container[];
  containers?: Container[] | null;
  ephemeralContainers?: EphemeralContainer[];
  restartPolicy?: string;
  terminationGracePeriodSeconds?: number | bigint;
  activeDeadlineSeconds?: number | bigint;
  dnsPolicy?: string;
  nodeSelector?: Record<string, string>;
  serviceAccountName?: string;
  serviceAccount?: string;
  automountServiceAccountToken?: boolean;
  nodeName?: string;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  shareProcessNamespace?: boolean;
  securityContext?: PodSecurityContext;
  imagePullSecrets?: LocalObjectReference[];
  hostname?: string;
  subdomain?: string;
  affinity?: Affinity;
  schedulerName?: string;
  tolerations?: Toleration[];
  hostAliases?: HostAlias[];
  priorityClassName?: string;
  priority?: number;
  dnsConfig?: PodDNSConfig;
  readinessGates?: PodReadinessGate[];
  runtimeClassName?: string;
  enableServiceLinks?: boolean;
  preemptionPolicy?: string;
  overhead?: Record<string, string>;
  topologySpreadConstraints?: TopologySpreadConstraint[];
  setHostnameAsFQDN?: boolean;
  os?: PodOS;
  hostUsers?: boolean;
  schedulingGates?: PodSchedulingGate[];
  resourceClaims?: PodResourceClaim[];
  resources?: ResourceRequirements;
  hostnameOverride?: string;
  schedulingGroup?: PodSchedulingGroup;
  evictionResponders?: EvictionResponder[];
}

export interface PodStatus extends JsonObject {
  observedGeneration?: number | bigint;
  phase?: string;
  conditions?: PodCondition[];
  message?: string;
  reason?: string;
  nominatedNodeName?: string;
  hostIP?: string;
  hostIPs?: HostIP[];
  podIP?: string;
  podIPs?: PodIP[];
  startTime?: string;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
  qosClass?: string;
  ephemeralContainerStatuses?: ContainerStatus[];
  resize?: string;
  resourceClaimStatuses?: PodResourceClaimStatus[];
  extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  allocatedResources?: Record<string, string>;
  resources?: ResourceRequirements;
  nodeAllocatableResourceClaimStatuses?: NodeAllocatableResourceClaimStatus[];
  volumeHealth?: PodVolumeHealth[];
}

export interface PodVolumeHealth extends JsonObject {
  name?: string;
  healthConditions?: VolumeHealthCondition[];
  lastTransitionTime?: string | null;
}

export interface PortStatus extends JsonObject {
  port?: number;
  protocol?: string;
  error?: string;
}

export interface PortworxVolumeSource extends JsonObject {
  volumeID?: string;
  fsType?: string;
  readOnly?: boolean;
}

export interface PreferredSchedulingTerm extends JsonObject {
  weight?: number;
  preference?: NodeSelectorTerm;
}

export interface Probe extends JsonObject {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  tcpSocket?: TCPSocketAction;
  grpc?: GRPCAction;
  initialDelaySeconds?: number;
  timeoutSeconds?: number;
  periodSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
  terminationGracePeriodSeconds?: number | bigint;
}

export interface ProjectedVolumeSource extends JsonObject {
  sources?: VolumeProjection[] | null;
  defaultMode?: number;
  defaultUser?: number | bigint;
}

export interface QuobyteVolumeSource extends JsonObject {
  registry?: string;
  volume?: string;
  readOnly?: boolean;
  user?: string;
  group?: string;
  tenant?: string;
}

export interface RBDPersistentVolumeSource extends JsonObject {
  monitors?: string[] | null;
  image?: string;
  fsType?: string;
  pool?: string;
  user?: string;
  keyring?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
}

export interface RBDVolumeSource extends JsonObject {
  monitors?: string[] | null;
  image?: string;
  fsType?: string;
  pool?: string;
  user?: string;
  keyring?: string;
  secretRef?: LocalObjectReference;
  readOnly?: boolean;
}

export interface ResourceClaim extends JsonObject {
  name?: string;
  request?: string;
}

export interface ResourceFieldSelector extends JsonObject {
  containerName?: string;
  resource?: string;
  divisor?: string;
}

export interface ResourceHealth extends JsonObject {
  resourceID?: string;
  health?: string;
  message?: string;
}

export interface ResourceQuota extends KubeObject {
  spec?: ResourceQuotaSpec;
  status?: ResourceQuotaStatus;
}

export interface ResourceQuotaSpec extends JsonObject {
  hard?: Record<string, string>;
  scopes?: string[];
  scopeSelector?: ScopeSelector;
}

export interface ResourceQuotaStatus extends JsonObject {
  hard?: Record<string, string>;
  used?: Record<string, string>;
}

export interface ResourceRequirements extends JsonObject {
  limits?: Record<string, string>;
  requests?: Record<string, string>;
  claims?: ResourceClaim[];
}

export interface ResourceStatus extends JsonObject {
  name?: string;
  resources?: ResourceHealth[];
}

export interface SELinuxOptions extends JsonObject {
  user?: string;
  role?: string;
  type?: string;
  level?: string;
}

export interface ScaleIOPersistentVolumeSource extends JsonObject {
  gateway?: string;
  system?: string;
  secretRef?: SecretReference | null;
  sslEnabled?: boolean;
  protectionDomain?: string;
  storagePool?: string;
  storageMode?: string;
  volumeName?: string;
  fsType?: string;
  readOnly?: boolean;
}

export interface ScaleIOVolumeSource extends JsonObject {
  gateway?: string;
  system?: string;
  secretRef?: LocalObjectReference | null;
  sslEnabled?: boolean;
  protectionDomain?: string;
  storagePool?: string;
  storageMode?: string;
  volumeName?: string;
  fsType?: string;
  readOnly?: boolean;
}

export interface ScopeSelector extends JsonObject {
  matchExpressions?: ScopedResourceSelectorRequirement[];
}

export interface ScopedResourceSelectorRequirement extends JsonObject {
  scopeName?: string;
  operator?: string;
  values?: string[];
}

export interface SeccompProfile extends JsonObject {
  type?: string;
  localhostProfile?: string;
}

export interface Secret extends KubeObject {
  immutable?: boolean;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  type?: string;
}

export interface SecretEnvSource extends JsonObject {
  name?: string;
  optional?: boolean;
}

export interface SecretKeySelector extends JsonObject {
  name?: string;
  key?: string;
  optional?: boolean;
}

export interface SecretProjection extends JsonObject {
  name?: string;
  items?: KeyToPath[];
  optional?: boolean;
}

export interface SecretReference extends JsonObject {
  name?: string;
  namespace?: string;
}

export interface SecretVolumeSource extends JsonObject {
  secretName?: string;
  items?: KeyToPath[];
  defaultMode?: number;
  optional?: boolean;
  defaultUser?: number | bigint;
}

export interface SecurityContext extends JsonObject {
  capabilities?: Capabilities;
  privileged?: boolean;
  seLinuxOptions?: SELinuxOptions;
  windowsOptions?: WindowsSecurityContextOptions;
  runAsUser?: number | bigint;
  runAsGroup?: number | bigint;
  runAsNonRoot?: boolean;
  readOnlyRootFilesystem?: boolean;
  allowPrivilegeEscalation?: boolean;
  procMount?: string;
  seccompProfile?: SeccompProfile;
  appArmorProfile?: AppArmorProfile;
}

export interface Service extends KubeObject {
  spec?: ServiceSpec;
  status?: ServiceStatus;
}

export interface ServiceAccount extends KubeObject {
  secrets?: ObjectReference[];
  imagePullSecrets?: LocalObjectReference[];
  automountServiceAccountToken?: boolean;
}

export interface ServiceAccountTokenProjection extends JsonObject {
  audience?: string;
  expirationSeconds?: number | bigint;
  path?: string;
  user?: number | bigint;
}

export interface ServicePort extends JsonObject {
  name?: string;
  protocol?: string;
  appProtocol?: string;
  port?: number;
  targetPort?: number | string;
  nodePort?: number;
}

export interface ServiceSpec extends JsonObject {
  ports?: ServicePort[];
  selector?: Record<string, string>;
  clusterIP?: string;
  clusterIPs?: string[];
  type?: string;
  externalIPs?: string[];
  sessionAffinity?: string;
  loadBalancerIP?: string;
  loadBalancerSourceRanges?: string[];
  externalName?: string;
  externalTrafficPolicy?: string;
  healthCheckNodePort?: number;
  publishNotReadyAddresses?: boolean;
  sessionAffinityConfig?: SessionAffinityConfig;
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  allocateLoadBalancerNodePorts?: boolean;
  loadBalancerClass?: string;
  internalTrafficPolicy?: string;
  trafficDistribution?: string;
}

export interface ServiceStatus extends JsonObject {
  loadBalancer?: LoadBalancerStatus;
  conditions?: Condition[];
}

export interface SessionAffinityConfig extends JsonObject {
  clientIP?: ClientIPConfig;
}

export interface SleepAction extends JsonObject {
  seconds?: number | bigint;
}

export interface StorageOSPersistentVolumeSource extends JsonObject {
  volumeName?: string;
  volumeNamespace?: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: ObjectReference;
}

export interface StorageOSVolumeSource extends JsonObject {
  volumeName?: string;
  volumeNamespace?: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
}

export interface Sysctl extends JsonObject {
  name?: string;
  value?: string;
}

export interface TCPSocketAction extends JsonObject {
  port?: number | string;
  host?: string;
}

export interface Taint extends JsonObject {
  key?: string;
  value?: string;
  effect?: string;
  timeAdded?: string;
}

export interface Toleration extends JsonObject {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number | bigint;
}

export interface TopologySpreadConstraint extends JsonObject {
  maxSkew?: number;
  topologyKey?: string;
  whenUnsatisfiable?: string;
  labelSelector?: LabelSelector;
  minDomains?: number;
  nodeAffinityPolicy?: string;
  nodeTaintsPolicy?: string;
  matchLabelKeys?: string[];
}

export interface TypedLocalObjectReference extends JsonObject {
  apiGroup?: string | null;
  kind?: string;
  name?: string;
}

export interface TypedObjectReference extends JsonObject {
  apiGroup?: string | null;
  kind?: string;
  name?: string;
  namespace?: string;
}

export interface Volume extends JsonObject {
  name?: string;
  hostPath?: HostPathVolumeSource;
  emptyDir?: EmptyDirVolumeSource;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  gitRepo?: GitRepoVolumeSource;
  secret?: SecretVolumeSource;
  nfs?: NFSVolumeSource;
  iscsi?: ISCSIVolumeSource;
  glusterfs?: GlusterfsVolumeSource;
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  rbd?: RBDVolumeSource;
  flexVolume?: FlexVolumeSource;
  cinder?: CinderVolumeSource;
  cephfs?: CephFSVolumeSource;
  flocker?: FlockerVolumeSource;
  downwardAPI?: DownwardAPIVolumeSource;
  fc?: FCVolumeSource;
  azureFile?: AzureFileVolumeSource;
  configMap?: ConfigMapVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  quobyte?: QuobyteVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  projected?: ProjectedVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  scaleIO?: ScaleIOVolumeSource;
  storageos?: StorageOSVolumeSource;
  csi?: CSIVolumeSource;
  ephemeral?: EphemeralVolumeSource;
  image?: ImageVolumeSource;
}

export interface VolumeDevice extends JsonObject {
  name?: string;
  devicePath?: string;
}

export interface VolumeHealthCondition extends JsonObject {
  status?: string;
  reason?: string;
  message?: string;
}

export interface VolumeHealthStatus extends JsonObject {
  healthConditions?: VolumeHealthCondition[];
  lastTransitionTime?: string | null;
}

export interface VolumeMount extends JsonObject {
  name?: string;
  readOnly?: boolean;
  recursiveReadOnly?: string;
  mountPath?: string;
  subPath?: string;
  mountPropagation?: string;
  subPathExpr?: string;
  bindMountOptions?: string[];
}

export interface VolumeMountStatus extends JsonObject {
  name?: string;
  mountPath?: string;
  readOnly?: boolean;
  recursiveReadOnly?: string;
  volumeStatus?: VolumeStatus;
}

export interface VolumeNodeAffinity extends JsonObject {
  required?: NodeSelector;
}

export interface VolumeProjection extends JsonObject {
  secret?: SecretProjection;
  downwardAPI?: DownwardAPIProjection;
  configMap?: ConfigMapProjection;
  serviceAccountToken?: ServiceAccountTokenProjection;
  clusterTrustBundle?: ClusterTrustBundleProjection;
  podCertificate?: PodCertificateProjection;
}

export interface VolumeResourceRequirements extends JsonObject {
  limits?: Record<string, string>;
  requests?: Record<string, string>;
}

export interface VolumeStatus extends JsonObject {
  image?: ImageVolumeStatus;
}

export interface VsphereVirtualDiskVolumeSource extends JsonObject {
  volumePath?: string;
  fsType?: string;
  storagePolicyName?: string;
  storagePolicyID?: string;
}

export interface WeightedPodAffinityTerm extends JsonObject {
  weight?: number;
  podAffinityTerm?: PodAffinityTerm;
}

export interface WindowsSecurityContextOptions extends JsonObject {
  gmsaCredentialSpecName?: string;
  gmsaCredentialSpec?: string;
  runAsUserName?: string;
  hostProcess?: boolean;
}
