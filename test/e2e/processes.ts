import { writeFileSync } from 'node:fs';
import { ADMIN, NOBODY } from '../integration/server.js';
import type { Certificates } from './certificates.js';
import type { Program } from './daemon.js';

/** The ports of the components. */
export interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiserver: number;
  readonly manager: number;
}

/** The cluster's users by token. The second user has only a name and a group. */
export const TOKENS = `${ADMIN},admin,admin,system:masters\n${NOBODY},jane,jane-uid,readers\n`;

/** The controllers that deal with objects of an extension server, and those that helm's objects need. */
const CONTROLLERS = [
  'namespace-controller',
  'garbage-collector-controller',
  'resourcequota-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'clusterrole-aggregation-controller',
  'deployment-controller',
  'replicaset-controller',
  'disruption-controller',
  'job-controller',
];

export function etcd(path: string, folder: string, ports: Ports): Program {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  const args = [
    `--data-dir=${folder}/etcd`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // The data need not outlive the tests.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
  return { name: 'etcd', path, args };
}

/** The log of TokenReviews and SubjectAccessReviews sent to the cluster, with the users who sent them. */
export const AUDIT_LOG = 'reviews.log';
const AUDIT_POLICY = 'audit-policy.json';
const REVIEWS = [
  { group: 'authentication.k8s.io', resources: ['tokenreviews'] },
  { group: 'authorization.k8s.io', resources: ['subjectaccessreviews'] },
];

export function writeAuditPolicy(files: Certificates): void {
  const rules = [{ level: 'Request', resources: REVIEWS }, { level: 'None' }];
  const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules };
  writeFileSync(files.file(AUDIT_POLICY), JSON.stringify(policy));
}

/** Aggregator routing is off, so that a Service of type ExternalName points to the replicas. */
export function apiserver(path: string, files: Certificates, ports: Ports): Program {
  const args = [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.apiserver}`,
    `--tls-cert-file=${files.file('apiserver.crt')}`,
    `--tls-private-key-file=${files.file('apiserver.key')}`,
    `--client-ca-file=${files.file('ca.crt')}`,
    `--token-auth-file=${files.file('tokens.csv')}`,
    '--authorization-mode=RBAC',
    `--service-account-key-file=${files.file('sa.pub')}`,
    `--service-account-signing-key-file=${files.file('sa.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.0.0.0/24',
    `--requestheader-client-ca-file=${files.file('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-uid-headers=X-Remote-Uid',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${files.file('front-proxy.crt')}`,
    `--proxy-client-key-file=${files.file('front-proxy.key')}`,
    `--audit-policy-file=${files.file(AUDIT_POLICY)}`,
    `--audit-log-path=${files.file(AUDIT_LOG)}`,
  ];
  return { name: 'kube-apiserver', path, args };
}

export function controllerManager(path: string, files: Certificates, kubeconfig: string, ports: Ports): Program {
  const args = [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${CONTROLLERS.join(',')}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.manager}`,
    `--root-ca-file=${files.file('ca.crt')}`,
    `--service-account-private-key-file=${files.file('sa.key')}`,
    '--resource-quota-sync-period=5s',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ];
  return { name: 'kube-controller-manager', path, args };
}

/** Returns a kubeconfig as JSON, which is valid YAML. */
export function kubeconfig(server: string, ca: string, user: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
}
