import { conditionsOf } from '../apimachinery/meta/conditions.js';
import { randomBytes, X509Certificate } from 'node:crypto';
import { type JsonObject, objectAt, objectsOf, stringAt } from '../apimachinery/json/json.js';
import { FrontProxyTrust } from '../aggregation/front-proxy.js';
import type { ClusterAnswer, ClusterClient } from '../client/cluster-client.js';
import { messageOf } from '../util/error-message.js';
import { checkCaBundles } from './authorities.js';
import { type Finding, ok, failed, skipped } from './finding.js';
import { nameOf } from '../apimachinery/meta/meta.js';

/** The part of a client that the checks need. */
export type Cluster = Pick<ClusterClient, 'call' | 'must'>;

export interface ServiceOptions {
  readonly serviceName: string;
  readonly serviceNamespace: string;
  readonly servicePort: number;
  readonly ownerClusterRole: string;
  readonly admissionFromCluster: boolean;
  readonly registerDefinitions: boolean;
}

export interface Right {
  readonly verbs: readonly string[];
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The permissions that --kubeconfig needs. */
const MAIN_RIGHTS: readonly Right[] = [
  {
    verbs: ['list', 'watch', 'create', 'update', 'delete'],
    group: 'apiregistration.k8s.io',
    resource: 'apiservices',
  },
  { verbs: ['get', 'list', 'watch'], group: '', resource: 'namespaces' },
  { verbs: ['get', 'list', 'watch'], group: '', resource: 'resourcequotas' },
  { verbs: ['update'], group: '', resource: 'resourcequotas', subresource: 'status' },
];

/** The permissions that --kubeconfig needs with --owner-cluster-role. */
const ownerRights = (name: string): readonly Right[] =>
  name === '' ? [] : [{ verbs: ['list', 'watch'], group: 'rbac.authorization.k8s.io', resource: 'clusterroles', name }];

export const mainRights = ({ ownerClusterRole }: ServiceOptions): readonly Right[] => [
  ...MAIN_RIGHTS,
  ...ownerRights(ownerClusterRole),
];

/** The permissions that --authentication-kubeconfig needs. */
export const AUTHENTICATION_RIGHTS: readonly Right[] = [
  { verbs: ['create'], group: 'authentication.k8s.io', resource: 'tokenreviews' },
  {
    verbs: ['get', 'list', 'watch'],
    group: '',
    resource: 'configmaps',
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication',
  },
];

/** The permissions that --authorization-kubeconfig needs. */
export const AUTHORIZATION_RIGHTS: readonly Right[] = [
  { verbs: ['create'], group: 'authorization.k8s.io', resource: 'subjectaccessreviews' },
];

const refusal = ({ status, body }: ClusterAnswer): Error =>
  new Error(`${stringAt(body, 'message') ?? 'no message'} (status ${status})`);

const succeeded = ({ status }: ClusterAnswer): boolean => status === 200 || status === 201;

export async function checkReachable(cluster: Cluster, server: string): Promise<Finding> {
  const check = 'cluster';
  try {
    const answer = await cluster.call('GET', '/version');
    if (answer.status === 401) {
      return failed(
        check,
        `${server} does not accept the credentials in use`,
        'renew the credentials in the kubeconfig',
      );
    }
    if (!succeeded(answer)) throw refusal(answer);
    return ok(check, `${server}, ${stringAt(answer.body, 'gitVersion') ?? 'of unknown version'}`);
  } catch (error) {
    return failed(
      check,
      `${server}: ${messageOf(error)}`,
      'correct the server and CA in the kubeconfig, or open the network path to it',
    );
  }
}

/** Checks that the identity of a client has the permissions that Annex needs. */
export async function checkRights(check: string, cluster: Cluster, rights: readonly Right[]): Promise<Finding> {
  const hint = "bind the identity in use to the roles in the chart's templates/rbac.yaml";
  const missing: string[] = [];
  try {
    for (const right of rights) {
      const denied: string[] = [];
      for (const verb of right.verbs) if (!(await mayDo(cluster, right, verb))) denied.push(verb);
      if (denied.length > 0) missing.push(`${denied.join(', ')} ${describeRight(right)}`);
    }
  } catch (error) {
    return failed(
      check,
      error,
      'bind the identity in use to the ClusterRole system:basic-user, which allows SelfSubjectAccessReviews',
    );
  }
  return missing.length === 0 ? ok(check, '') : failed(check, `it may not ${missing.join('; nor ')}`, hint);
}

async function mayDo(cluster: Cluster, right: Right, verb: string): Promise<boolean> {
  const { group, resource, subresource = '', namespace = '', name = '' } = right;
  const answer = await cluster.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb, group, resource, subresource, namespace, name } },
  });
  if (!succeeded(answer)) throw refusal(answer);
  return objectAt(answer.body, 'status')?.['allowed'] === true;
}

function describeRight({ group, resource, subresource, namespace, name }: Right): string {
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  const type = group === '' ? full : `${full}.${group}`;
  if (name === undefined) return type;
  return namespace === undefined ? `${type} ${name}` : `${type} ${namespace}/${name}`;
}

/** Facts about the server itself. */
export interface ServerFacts {
  readonly now: number;
  /** The fingerprints of the CAs of its serving certificate; undefined if they could not be read. */
  readonly authorities: readonly string[] | undefined;
}

/** Checks v1.kubeannex.io and all other APIServices that refer to the Service, then their CA bundles. */
export async function checkApiServices(
  cluster: Cluster,
  service: ServiceOptions,
  known: ServerFacts,
): Promise<Finding[]> {
  const check = 'APIService v1.kubeannex.io';
  let services: JsonObject[];
  try {
    const list = await cluster.must('GET', '/apis/apiregistration.k8s.io/v1/apiservices');
    services = objectsOf(list?.['items']);
  } catch (error) {
    return [failed(check, error, 'allow the identity in use to list apiservices')];
  }
  const own = services.find((object) => nameOf(object) === 'v1.kubeannex.io');
  const others = services.filter((object) => object !== own && refersTo(object, service));
  const place = `${service.serviceNamespace}/${service.serviceName}`;
  const first =
    own === undefined
      ? failed(check, 'not found', 'start `annex serve`, which registers it')
      : refersTo(own, service)
        ? available(check, own, service)
        : failed(
            check,
            `it refers to a Service other than ${place}`,
            'remove the other installation, or correct --service-name and --service-namespace',
          );
  const ours = services.filter((object) => refersTo(object, service));
  return [
    service.registerDefinitions ? first : skipped(check, '--register-definitions=false'),
    ...others.map((object) => available(`APIService ${nameOf(object)}`, object, service)),
    checkCaBundles(ours, known.authorities, known.now),
  ];
}

function refersTo(object: JsonObject, service: ServiceOptions): boolean {
  const reference = objectAt(objectAt(object, 'spec'), 'service');
  return (
    stringAt(reference, 'name') === service.serviceName && stringAt(reference, 'namespace') === service.serviceNamespace
  );
}

function available(check: string, object: JsonObject, service: ServiceOptions): Finding {
  const port = objectAt(objectAt(object, 'spec'), 'service')?.['port'] ?? 443;
  if (Number(port) !== service.servicePort) {
    return failed(
      check,
      `it has port ${Number(port)}, not ${service.servicePort}`,
      'restart `annex serve` with the right --service-port',
    );
  }
  const condition = conditionsOf(object).find((one) => stringAt(one, 'type') === 'Available');
  if (stringAt(condition, 'status') === 'True') return ok(check, 'available');
  const reason = stringAt(condition, 'reason') ?? '';
  const message = stringAt(condition, 'message') ?? 'the cluster has not checked it yet';
  return failed(
    check,
    `it is not available: ${reason === '' ? '' : `${reason}: `}${message}`,
    serviceHint(reason, service),
  );
}

function serviceHint(reason: string, { serviceName, serviceNamespace, servicePort }: ServiceOptions): string {
  const service = `the Service ${serviceNamespace}/${serviceName}`;
  switch (reason) {
    case 'ServiceNotFound':
      return `create ${service}, or correct --service-name and --service-namespace`;
    case 'ServicePortError':
      return `add port ${servicePort} to ${service}, or correct --service-port`;
    case 'EndpointsNotFound':
    case 'MissingEndpoints':
      return `check that the selector of ${service} matches the pods and that they are ready`;
    default:
      return `check that annex serve is running, that the cluster's API server reaches ${service} (NetworkPolicy, firewall), and that it serves a certificate of the caBundle`;
  }
}

export async function checkFrontProxy(cluster: Cluster, now: number): Promise<Finding> {
  const check = 'front-proxy trust';
  const trust = new FrontProxyTrust();
  try {
    await trust.load(cluster);
  } catch (error) {
    return failed(
      check,
      error,
      'bind the identity in use to the Role extension-apiserver-authentication-reader in kube-system, or correct the ConfigMap',
    );
  }
  const hint =
    'start kube-apiserver with --requestheader-client-ca-file, --requestheader-username-headers and --proxy-client-cert-file';
  if (trust.proxy === undefined)
    return failed(check, 'the cluster has no front proxy: its users are anonymous to Annex', hint);
  if (trust.config.usernameHeaders.length === 0) return failed(check, 'no header names the user', hint);
  const last = Math.max(...trust.proxy.pems.map((pem) => Date.parse(new X509Certificate(pem).validTo)));
  if (last <= now) {
    const when = new Date(last).toISOString();
    return failed(
      check,
      `its CA expired on ${when}: the cluster's users are anonymous to Annex`,
      'renew the front-proxy CA of the cluster',
    );
  }
  const { allowedNames } = trust.config;
  const who = allowedNames.length === 0 ? 'any name of its CA' : `names ${allowedNames.join(', ')}`;
  return ok(check, `${who}, until ${new Date(last).toISOString()}`);
}

/** Reviews a token that does not exist. */
export async function checkTokenReview(cluster: Cluster): Promise<Finding> {
  const check = 'TokenReview';
  const hint = 'bind the identity in use to the ClusterRole system:auth-delegator';
  try {
    const answer = await cluster.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: `annex-doctor-${randomBytes(16).toString('hex')}` },
    });
    if (!succeeded(answer)) throw refusal(answer);
    if (objectAt(answer.body, 'status')?.['authenticated'] === true) {
      return failed(check, 'the cluster accepts a made-up token', 'correct the token authentication of the cluster');
    }
    return ok(check, 'answered');
  } catch (error) {
    return failed(check, error, hint);
  }
}

export async function checkAccessReview(cluster: Cluster): Promise<Finding> {
  const check = 'SubjectAccessReview';
  try {
    const answer = await cluster.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: 'annex-doctor',
        resourceAttributes: { verb: 'list', group: 'kubeannex.io', resource: 'resourcedefinitions' },
      },
    });
    if (!succeeded(answer)) throw refusal(answer);
    if (typeof objectAt(answer.body, 'status')?.['allowed'] !== 'boolean')
      throw new Error('the response has no status.allowed');
    return ok(check, 'answered');
  } catch (error) {
    return failed(check, error, 'bind the identity in use to the ClusterRole system:auth-delegator');
  }
}
