import type { ApiLifecycle, ResourceVersion } from '../../rest/interfaces.js';
import { endpoints } from '../core/endpoints/type.js';
import { typeAt } from './lifecycle.js';

const at = (minor: number, lifecycle: ApiLifecycle): ResourceVersion | undefined =>
  typeAt({ ...endpoints, versions: endpoints.versions.map((version) => ({ ...version, lifecycle })) }, minor)
    .versions[0];

const WHOLE: ApiLifecycle = { introduced: 30, deprecated: 33, removed: 36, replacement: 'apps/v1 Thing' };

test.each([
  [29, false],
  [30, true],
  [35, true],
  [36, false],
])('served at 1.%i: %s', (minor, served) => {
  expect(at(minor, WHOLE)).toMatchObject({ served });
});

test('deprecation follows this release, regardless of the emulated version', () => {
  expect(at(30, WHOLE)).toMatchObject({ deprecated: true });
  expect(at(37, { deprecated: 38 })).toMatchObject({ deprecated: false });
});

test('the warning contains the deprecation, the removal, and the replacement', () => {
  expect(at(34, WHOLE)).toMatchObject({
    deprecationWarning: 'v1 Endpoints is deprecated in v1.33+, unavailable in v1.36+; use apps/v1 Thing',
    removedRelease: '1.36',
  });
  expect(at(37, { deprecated: 38 })?.deprecationWarning).toBeUndefined();
});

test('endpoints are deprecated since 1.33, without a removal release', () => {
  const [now] = typeAt(endpoints, 37).versions;
  expect(now?.removedRelease).toBeUndefined();
  expect(now).toMatchObject({
    deprecated: true,
    deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
    served: true,
  });
});
