import type { KubeObject } from '../apimachinery/meta/meta.js';
import { releaseWithDefinitions } from './other-release.js';

const OWN = { namespace: 'a', name: 'annex' };

const found = (labels: Record<string, string>, service?: object): Promise<string | undefined> => {
  const object = { metadata: { name: 'v1.kubeannex.io', labels }, spec: { ...(service !== undefined && { service }) } };
  return releaseWithDefinitions({ must: () => Promise.resolve(object as KubeObject) }, OWN);
};

test('names the Service of another release of Annex, and nothing else', async () => {
  const annex = { 'app.kubernetes.io/managed-by': 'annex' };
  expect(await found(annex, { namespace: 'b', name: 'annex' })).toBe('b/annex');
  expect(await found(annex, { namespace: 'a', name: 'second' })).toBe('a/second');
  expect(await found(annex, OWN)).toBeUndefined();
  expect(await found(annex)).toBeUndefined();
  // An APIService that no release made is a conflict of that APIService alone.
  expect(await found({}, { namespace: 'b', name: 'annex' })).toBeUndefined();
  expect(await releaseWithDefinitions({ must: () => Promise.resolve(undefined) }, OWN)).toBeUndefined();
});
