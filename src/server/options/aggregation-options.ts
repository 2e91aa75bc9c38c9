import { bool, FlagError, flagsOf, type FlagValues, type GivenFlags, int, list, text } from './flags.js';

const flag = flagsOf('Aggregation flags:');

/** The health endpoints, which kubelet probes request without an identity. */
const HEALTH_PATHS: readonly string[] = ['/healthz', '/healthz/*', '/livez', '/livez/*', '/readyz', '/readyz/*'];

/** Flags of aggregated mode, in which Annex extends a cluster. */
export const AGGREGATION_FLAGS = {
  kubeconfig: flag(
    'kubeconfig',
    text,
    '',
    'Kubeconfig of the cluster that Annex extends. Annex runs in aggregated mode if this flag is set or, in a pod, if --service-name is set; it then uses the credentials of the pod.',
  ),
  authenticationKubeconfig: flag(
    'authentication-kubeconfig',
    text,
    '',
    'Kubeconfig with permission to create TokenReviews and to read the front-proxy configuration. Defaults to --kubeconfig.',
  ),
  authorizationKubeconfig: flag(
    'authorization-kubeconfig',
    text,
    '',
    'Kubeconfig with permission to create SubjectAccessReviews. Defaults to --kubeconfig.',
  ),
  serviceNamespace: flag('service-namespace', text, 'annex-system', 'Namespace of the Service of Annex.'),
  serviceName: flag('service-name', text, '', 'Name of the Service that APIServices refer to.'),
  servicePort: flag('service-port', int(1, 65535), 443, 'Port of that Service.'),
  ownerClusterRole: flag(
    'owner-cluster-role',
    text,
    '',
    'ClusterRole that owns the APIServices: when it is deleted, as on uninstall, the garbage collector of the cluster deletes them. If unset, they have no owner.',
  ),
  registerDefinitions: flag(
    'register-definitions',
    bool,
    true,
    'Serve ResourceDefinitions and Adoptions (the group kubeannex.io) through the cluster, which one release can do. With false, this release registers only the groups of its ResourceDefinitions, and these are managed at its own Service.',
  ),
  allowClusterGroups: flag(
    'allow-cluster-groups',
    list,
    [],
    'Groups that Kubernetes defines, or that the cluster or another server serves in some version, in which ResourceDefinitions may nevertheless define types.',
  ),
  admissionFromCluster: flag(
    'admission-from-cluster',
    bool,
    true,
    'Apply the webhook configurations and admission policies of the cluster to the types that Annex serves. If false, no webhook or policy is applied to their requests, because the API server of the cluster does not run admission for requests that it proxies.',
  ),
  clusterApiServers: flag(
    'cluster-api-servers',
    list,
    [],
    'Addresses (host:port) of the kube-apiservers, which Annex checks individually while an Adoption switches a group. Defaults to the endpoints of the Service kubernetes. Each must have a certificate for kubernetes.default.svc.',
  ),
  authorizationAlwaysAllowPaths: flag(
    'authorization-always-allow-paths',
    list,
    HEALTH_PATHS,
    'Non-resource paths that are allowed for every user without a SubjectAccessReview; a trailing * matches all paths with that prefix.',
  ),
  serviceCaFile: flag(
    'service-ca-file',
    text,
    '',
    'PEM file of the CAs with which the API server of the cluster verifies --tls-cert-file; they are set in the APIServices. Without --tls-cert-file, Annex uses its own CA, which all replicas share through the store.',
  ),
};

/** Flags for authentication, authorization, and controllers, which the cluster provides for Annex, and why they have no effect here. */
const CLUSTER_PROVIDED_FLAGS: readonly (readonly [flags: readonly string[], why: string])[] = [
  [
    [
      'client-ca-file',
      'cluster-signing-cert-file',
      'cluster-signing-key-file',
      'root-ca-file',
      'token-auth-file',
      'api-audiences',
      'authentication-config',
      'authentication-token-webhook-config-file',
      'authentication-token-webhook-version',
      'enable-bootstrap-token-auth',
      'oidc-',
      'requestheader-allowed-names',
      'requestheader-client-ca-file',
      'requestheader-extra-headers-prefix',
      'requestheader-group-headers',
      'requestheader-uid-headers',
      'requestheader-username-headers',
      'service-account-extend-token-expiration',
      'service-account-issuer',
      'service-account-jwks-uri',
      'service-account-key-file',
      'service-account-lookup',
      'service-account-max-token-expiration',
      'service-account-signing-key-file',
    ],
    'the cluster authenticates users, with its front proxy and TokenReviews',
  ],
  [
    [
      'authorization-config',
      'authorization-mode',
      'authorization-policy-file',
      'authorization-webhook-config-file',
      'authorization-webhook-version',
    ],
    'the cluster authorizes requests, with SubjectAccessReviews',
  ],
  [
    ['controllers', 'use-service-account-credentials', 'legacy-service-account-token-clean-up-period'],
    'the cluster runs the controllers',
  ],
];

type Values = FlagValues<typeof AGGREGATION_FLAGS>;

/** Reports whether Annex extends a cluster, rather than being a control plane of its own. */
export const isAggregated = (options: Pick<Values, 'kubeconfig' | 'serviceName'>): boolean =>
  options.kubeconfig !== '' || options.serviceName !== '';

export function validateAggregationOptions(
  options: Pick<Values, 'kubeconfig' | 'serviceName' | 'serviceCaFile'> & GivenFlags & { readonly tlsCertFile: string },
): void {
  if (options.kubeconfig !== '' && options.serviceName === '') {
    throw new FlagError('--kubeconfig requires --service-name, the Service that APIServices will refer to');
  }
  if (!isAggregated(options)) {
    const flag = Object.values(AGGREGATION_FLAGS).find(({ name }) => options.given.has(name));
    if (flag !== undefined) throw new FlagError(`--${flag.name} requires --service-name`);
    return;
  }
  rejectClusterProvidedFlags(options.given);
  if ((options.tlsCertFile === '') !== (options.serviceCaFile === '')) {
    throw new FlagError('--tls-cert-file and --service-ca-file must be given together');
  }
}

function rejectClusterProvidedFlags(given: ReadonlySet<string>): void {
  for (const [flags, why] of CLUSTER_PROVIDED_FLAGS) {
    const flag = [...given].find((name) =>
      flags.some((prefix) => name === prefix || (prefix === 'oidc-' && name.startsWith(prefix))),
    );
    if (flag !== undefined) throw new FlagError(`--${flag} has no effect in aggregated mode: ${why}; remove it`);
  }
}

/** The default time, in milliseconds, for which aggregated API servers cache the responses to reviews. */
const REVIEW_TTL_MILLIS = 10_000;

/** Returns the value of a flag if the command line sets it; its default applies to standalone mode only. */
export function reviewTtl({ given }: GivenFlags, flag: string, millis: number): number {
  return given.has(flag) ? millis : REVIEW_TTL_MILLIS;
}
