import { objectAt, stringAt } from '../apimachinery/json/json.js';
import type { ClusterClient } from './cluster-client.js';

/** Returns the name of the user that the cluster authenticates the client as. */
export async function whoAmI(client: Pick<ClusterClient, 'must'>): Promise<string> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const answer = await client.must('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
  const name = stringAt(objectAt(objectAt(answer, 'status'), 'userInfo'), 'username') ?? '';
  if (name === '') throw new Error('the cluster did not return the user name of Annex');
  return name;
}
