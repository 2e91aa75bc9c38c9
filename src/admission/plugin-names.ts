import { aggregateTexts } from '../authorization/authorizer/results.js';

/** One of kube-apiserver's admission plugins. */
export interface PluginName {
  readonly name: string;
  /** True if the plugin runs by default. */
  readonly on: boolean;
  /** True if Annex implements the plugin. */
  readonly here: boolean;
}

const ON = { on: true, here: true };
const OFF = { on: false, here: true };
const ON_ELSEWHERE = { on: true, here: false };
const OFF_ELSEWHERE = { on: false, here: false };

/** kube-apiserver's admission plugins, in its order of execution. */
export const ADMISSION_PLUGINS: readonly PluginName[] = [
  { name: 'AlwaysAdmit', ...OFF },
  { name: 'NamespaceAutoProvision', ...OFF },
  { name: 'NamespaceLifecycle', ...ON },
  { name: 'NamespaceExists', ...OFF },
  { name: 'LimitPodHardAntiAffinityTopology', ...OFF_ELSEWHERE },
  { name: 'LimitRanger', ...ON_ELSEWHERE },
  { name: 'ServiceAccount', ...ON },
  { name: 'NodeRestriction', ...OFF },
  { name: 'TaintNodesByCondition', ...ON },
  { name: 'AlwaysPullImages', ...OFF_ELSEWHERE },
  { name: 'ImagePolicyWebhook', ...OFF_ELSEWHERE },
  { name: 'PodSecurity', ...ON_ELSEWHERE },
  { name: 'PodNodeSelector', ...OFF_ELSEWHERE },
  { name: 'Priority', ...ON },
  { name: 'DefaultTolerationSeconds', ...ON },
  { name: 'PodTolerationRestriction', ...OFF_ELSEWHERE },
  { name: 'EventRateLimit', ...OFF_ELSEWHERE },
  { name: 'ExtendedResourceToleration', ...OFF_ELSEWHERE },
  { name: 'DefaultStorageClass', ...ON_ELSEWHERE },
  { name: 'StorageObjectInUseProtection', ...ON },
  { name: 'PodGroupProtection', ...ON_ELSEWHERE },
  { name: 'OwnerReferencesPermissionEnforcement', ...OFF_ELSEWHERE },
  { name: 'PersistentVolumeClaimResize', ...ON },
  { name: 'RuntimeClass', ...ON },
  { name: 'CertificateApproval', ...ON },
  { name: 'CertificateSigning', ...ON },
  { name: 'ClusterTrustBundleAttest', ...ON_ELSEWHERE },
  { name: 'CertificateSubjectRestriction', ...ON },
  { name: 'DefaultIngressClass', ...ON_ELSEWHERE },
  { name: 'DenyServiceExternalIPs', ...OFF },
  { name: 'PodTopologyLabels', ...ON },
  { name: 'PodGroupWorkloadExists', ...ON_ELSEWHERE },
  { name: 'NodeDeclaredFeatureValidator', ...ON_ELSEWHERE },
  { name: 'JobValidation', ...ON_ELSEWHERE },
  { name: 'PodResizeValidator', ...ON_ELSEWHERE },
  { name: 'MutatingAdmissionPolicy', ...ON },
  { name: 'MutatingAdmissionWebhook', ...ON },
  { name: 'ValidatingAdmissionPolicy', ...ON },
  { name: 'ValidatingAdmissionWebhook', ...ON },
  { name: 'ResourceQuota', ...ON },
  { name: 'AlwaysDeny', ...OFF },
];

/** The two flags that select plugins. */
export interface PluginFlags {
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
}

/** The deprecated flag that lists all plugins to run; undefined if it is not set. */
interface GivenPluginFlags extends PluginFlags {
  readonly admissionControl?: readonly string[] | undefined;
}

const sorted = (names: Iterable<string>): string[] => [...names].sort();

/** Returns the errors of the flags in kube-apiserver's words, or undefined. */
export function pluginFlagError(flags: GivenPluginFlags): string | undefined {
  const { enableAdmissionPlugins, disableAdmissionPlugins, admissionControl } = flags;
  const known = new Set(ADMISSION_PLUGINS.map(({ name }) => name));
  const unknown = (flag: string, names: readonly string[]): string[] =>
    names.filter((name) => !known.has(name)).map((name) => `${flag} plugin ${JSON.stringify(name)} is unknown`);
  const exclusive =
    'admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive';
  const chosen = enableAdmissionPlugins.length + disableAdmissionPlugins.length > 0;
  const errors = [
    ...(admissionControl !== undefined && chosen ? [exclusive] : []),
    ...unknown('admission-control', admissionControl ?? []),
    ...unknown('enable-admission-plugins', enableAdmissionPlugins),
    ...unknown('disable-admission-plugins', disableAdmissionPlugins),
  ];
  const disabled = new Set(disableAdmissionPlugins);
  const both = sorted(new Set(enableAdmissionPlugins.filter((name) => disabled.has(name))));
  if (both.length > 0) {
    errors.push(`[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`);
  }
  return errors.length === 0 ? undefined : aggregateTexts(errors);
}

/** Converts `--admission-control` to the other two flags, which then select exactly its plugins. */
export function fromAdmissionControl(names: readonly string[]): PluginFlags {
  const disabled = ADMISSION_PLUGINS.filter(({ name, on, here }) => on && here && !names.includes(name));
  return { enableAdmissionPlugins: names, disableAdmissionPlugins: disabled.map(({ name }) => name) };
}

/** Returns the names of the plugins that run, in order. */
export function enabledPlugins({ enableAdmissionPlugins, disableAdmissionPlugins }: PluginFlags): string[] {
  const enabled = new Set(enableAdmissionPlugins);
  const disabled = new Set(disableAdmissionPlugins);
  return ADMISSION_PLUGINS.filter(
    ({ name, on, here }) => here && (enabled.has(name) || (on && !disabled.has(name))),
  ).map(({ name }) => name);
}

/** Returns the plugins that the flags name but only kube-apiserver implements. */
export function unimplementedPlugins({ enableAdmissionPlugins, disableAdmissionPlugins }: PluginFlags): string[] {
  const named = new Set([...enableAdmissionPlugins, ...disableAdmissionPlugins]);
  return ADMISSION_PLUGINS.filter(({ name, here }) => !here && named.has(name)).map(({ name }) => name);
}

const listOf = (wanted: (plugin: PluginName) => boolean): string[] =>
  ADMISSION_PLUGINS.filter(wanted).map(({ name }) => name);

/** Lists of names for the text of `--help`. */
export const DEFAULT_PLUGINS: readonly string[] = listOf(({ on, here }) => on && here);
export const IMPLEMENTED_PLUGINS: readonly string[] = sorted(listOf(({ here }) => here));
export const UNIMPLEMENTED_PLUGINS: readonly string[] = sorted(listOf(({ here }) => !here));
