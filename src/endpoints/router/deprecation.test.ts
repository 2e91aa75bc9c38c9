import type { ResourceVersion } from '../../registry/rest/interfaces.js';
import type { RequestContext } from '../../request/context.js';
import { warnOfDeprecation } from './deprecation.js';
import type { HandlerMetrics } from '../handlers/scope.js';

/** Returns what a request for a version reports to the client, the audit log, and the metrics. */
function reported(more: Partial<ResourceVersion>, served = true): unknown[] {
  const calls: unknown[] = [];
  const note = (...facts: unknown[]): void => void calls.push(facts);
  const context = { info: { subresource: 'status' }, served, warn: note, annotate: note } as unknown as RequestContext;
  const metrics = { deprecatedRequested: note } as unknown as HandlerMetrics;
  const version = { name: 'v1beta1', deprecated: true, ...more } as ResourceVersion;
  const gvk = { group: 'g', version: 'v1beta1', kind: 'Thing' };
  warnOfDeprecation({ version, gvk, groupResource: { group: 'g', resource: 'things' } }, context, { metrics });
  return calls;
}

const asked = { group: 'g', version: 'v1beta1', resource: 'things', subresource: 'status' };

test('reports nothing for a version that is not deprecated', () => {
  expect(reported({ deprecated: false })).toEqual([]);
});

test('reports a deprecated version', () => {
  expect(reported({})).toEqual([
    [{ ...asked, removedRelease: '' }],
    ['g/v1beta1 Thing is deprecated'],
    ['k8s.io/deprecated', 'true'],
  ]);
});

test('reports the release that removes the version', () => {
  expect(reported({ removedRelease: '1.40', deprecationWarning: 'words' })).toEqual([
    [{ ...asked, removedRelease: '1.40' }],
    ['words'],
    ['k8s.io/deprecated', 'true'],
    ['k8s.io/removed-release', '1.40'],
  ]);
});

test('a subresource that does not exist is not a label', () => {
  expect(reported({}, false)).toEqual([['g/v1beta1 Thing is deprecated'], ['k8s.io/deprecated', 'true']]);
});
