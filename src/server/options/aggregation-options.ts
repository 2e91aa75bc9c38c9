import { flag, FlagError, int, text } from './flags.js';

const AGGREGATION = 'Aggregation flags:';

/** Flags of aggregated mode, in which Annex extends a cluster. */
export const AGGREGATION_FLAGS = {
  kubeconfig: flag(
    AGGREGATION,
    'kubeconfig',
    text,
    '',
    'Kubeconfig of the cluster that Annex extends. With it, or with --service-name alone in a pod (whose credentials are used then), Annex runs aggregated.',
  ),
  authenticationKubeconfig: flag(
    AGGREGATION,
    'authentication-kubeconfig',
    text,
    '',
    'Kubeconfig with the right to create TokenReviews and to read the front-proxy configuration; --kubeconfig without it.',
  ),
  authorizationKubeconfig: flag(
    AGGREGATION,
    'authorization-kubeconfig',
    text,
    '',
    'Kubeconfig with the right to create SubjectAccessReviews; --kubeconfig without it.',
  ),
  serviceNamespace: flag(AGGREGATION, 'service-namespace', text, 'annex-system', 'Namespace of the Service of Annex.'),
  serviceName: flag(AGGREGATION, 'service-name', text, '', 'Name of the Service that APIServices refer to.'),
  servicePort: flag(AGGREGATION, 'service-port', int(1, 65535), 443, 'Port of that Service.'),
  ownerClusterRole: flag(
    AGGREGATION,
    'owner-cluster-role',
    text,
    '',
    'ClusterRole that owns the APIServices: when it is deleted, as uninstalling does, the garbage collector of the cluster deletes them. Nobody owns them without it.',
  ),
  serviceCaFile: flag(
    AGGREGATION,
    'service-ca-file',
    text,
    '',
    'CAs by which the API server of the cluster knows --tls-cert-file; they go into the APIServices. Without --tls-cert-file Annex has a CA of its own, which all replicas share through the store.',
  ),
};

interface AggregationOptions {
  readonly kubeconfig: string;
  readonly serviceName: string;
  readonly ownerClusterRole: string;
  readonly serviceCaFile: string;
  readonly tlsCertFile: string;
}

/** Whether Annex extends a cluster, rather than being a control plane of its own. */
export const isAggregated = (options: Pick<AggregationOptions, 'kubeconfig' | 'serviceName'>): boolean =>
  options.kubeconfig !== '' || options.serviceName !== '';

export function validateAggregationOptions(options: AggregationOptions): void {
  if (options.kubeconfig !== '' && options.serviceName === '') {
    throw new FlagError('--kubeconfig needs --service-name, the Service that APIServices will refer to');
  }
  if (!isAggregated(options)) {
    if (options.serviceCaFile !== '') throw new FlagError('--service-ca-file needs --service-name');
    if (options.ownerClusterRole !== '') throw new FlagError('--owner-cluster-role needs --service-name');
  } else if ((options.tlsCertFile === '') !== (options.serviceCaFile === '')) {
    throw new FlagError('--tls-cert-file and --service-ca-file are given together, or neither of them');
  }
}
