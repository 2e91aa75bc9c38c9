import { ADOPTION_PREFIX } from '../protocol/names.js';
import { type JsonObject, objectAt } from '../../apimachinery/json/json.js';
import type { ClusterClient } from '../../client/cluster-client.js';

/** A rule of a ClusterRole, and the access reviews that show whether it is granted. */
export interface AdoptionRight {
  readonly rule: JsonObject;
  /** The attributes of the access reviews. */
  readonly asked: readonly JsonObject[];
}

interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** The subject of the rights: the caller itself, or a service account. */
export type RightsSubject = 'own' | ServiceAccount;

/** Parses `<namespace>/<name>`. */
export function serviceAccount(text: string): ServiceAccount {
  const [namespace = '', name = ''] = text.split('/');
  return { namespace, name };
}

const WRITTEN = ['get', 'create', 'patch', 'delete'];

const attributes = (verb: string, group: string, resource: string, more: JsonObject = {}): JsonObject => ({
  resourceAttributes: { verb, group, resource, ...more },
});

function right(group: string, resources: readonly string[], verbs: readonly string[], name = ''): AdoptionRight {
  const rule = { apiGroups: [group], resources: [...resources], verbs: [...verbs] };
  return {
    rule: name === '' ? rule : { ...rule, resourceNames: [name] },
    asked: resources.flatMap((resource) =>
      verbs.map((verb) => attributes(verb, group, resource, name === '' ? {} : { name })),
    ),
  };
}

/** Returns the rights that Annex needs in the cluster to move a group in either direction. `plurals` are the types of the group. */
export function adoptionRights(group: string, plurals: readonly string[]): readonly AdoptionRight[] {
  const verbs = ['get', 'list', 'watch', 'create', 'update', 'delete'];
  const writing = [...verbs.slice(0, -1), 'patch', 'delete'];
  const own = ADOPTION_PREFIX + group;
  return [
    {
      rule: { apiGroups: [group], resources: ['*'], verbs: writing },
      asked: plurals.flatMap((plural) => [
        ...writing.map((verb) => attributes(verb, group, plural)),
        attributes('update', group, plural, { subresource: 'status' }),
      ]),
    },
    right('apiextensions.k8s.io', ['customresourcedefinitions'], verbs),
    right(
      'admissionregistration.k8s.io',
      ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
      WRITTEN,
      own,
    ),
    right('flowcontrol.apiserver.k8s.io', ['flowschemas'], WRITTEN, own),
    right('discovery.k8s.io', ['endpointslices'], ['list']),
    {
      rule: { nonResourceURLs: ['/metrics'], verbs: ['get'] },
      asked: [{ nonResourceAttributes: { path: '/metrics', verb: 'get' } }],
    },
  ];
}

/** Returns the rights that are not fully granted. */
export async function missingRightsOf(
  cluster: Pick<ClusterClient, 'must'>,
  rights: readonly AdoptionRight[],
  subject: RightsSubject,
): Promise<readonly AdoptionRight[]> {
  const given = await Promise.all(
    rights.map(async ({ asked }) => {
      for (const one of asked) if (!(await mayDo(cluster, one, subject))) return false;
      return true;
    }),
  );
  return rights.filter((_, i) => given[i] === false);
}

/** Reports whether the subject may list and watch a resource in all namespaces. */
export async function mayFollow(
  cluster: Pick<ClusterClient, 'must'>,
  group: string,
  resource: string,
  subject: RightsSubject,
): Promise<boolean> {
  for (const verb of ['list', 'watch']) if (!(await may(cluster, verb, group, resource, subject))) return false;
  return true;
}

/** Reports whether the subject may do something in all namespaces. */
export const may = (
  cluster: Pick<ClusterClient, 'must'>,
  verb: string,
  group: string,
  resource: string,
  subject: RightsSubject,
): Promise<boolean> => mayDo(cluster, attributes(verb, group, resource), subject);

async function mayDo(
  cluster: Pick<ClusterClient, 'must'>,
  asked: JsonObject,
  subject: RightsSubject,
): Promise<boolean> {
  const [kind, spec] =
    subject === 'own' ? ['SelfSubjectAccessReview', asked] : ['SubjectAccessReview', of(subject, asked)];
  const review = { apiVersion: 'authorization.k8s.io/v1', kind, spec };
  const answer = await cluster.must('POST', `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`, review);
  return objectAt(answer, 'status')?.['allowed'] === true;
}

const of = ({ namespace, name }: ServiceAccount, asked: JsonObject): JsonObject => ({
  ...asked,
  user: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
});
