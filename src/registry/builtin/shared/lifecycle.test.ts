import type { ApiLifecycle, ResourceVersion } from '../../rest/interfaces.js';
import { endpoints } from '../core/endpoints/type.js';
import { typeAt } from './lifecycle.js';

const at = (minor: number, lifecycle: ApiLifecycle): ResourceVersion | undefined =>
  typeAt({ ...endpoints, versions: endpoints.versions.map((version) => ({ ...version, lifecycle })) }, minor)
    .versions[0];

const WHOLE: ApiLifecycle = { introduced: 30, deprecated: 33, removed: 36, replacement: 'apps/v1 Thing' };

test.each([
  [29, false, false],
  [30, true, false],
  [32, true, false],
  [33, true, true],
  [35, true, true],
  [36, false, true],
])('at 1.%i it is served: %s, deprecated: %s', (minor, served, deprecated) => {
  expect(at(minor, WHOLE)).toMatchObject({ served, deprecated });
});

test('the warning says since when, until when, and what to use', () => {
  expect(at(34, WHOLE)).toMatchObject({
    deprecationWarning: 'v1 Endpoints is deprecated in v1.33+, unavailable in v1.36+; use apps/v1 Thing',
    removedRelease: '1.36',
  });
  expect(at(32, WHOLE)?.deprecationWarning).toBeUndefined();
});

test('endpoints are deprecated since 1.33, and nobody says when they go', () => {
  expect(typeAt(endpoints, 32).versions[0]).toMatchObject({ deprecated: false, served: true });
  const [now] = typeAt(endpoints, 36).versions;
  expect(now?.removedRelease).toBeUndefined();
  expect(now).toMatchObject({
    deprecated: true,
    deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
    served: true,
  });
});
