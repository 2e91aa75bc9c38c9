import type { ServedVersion } from '../../registry/rest/served.js';
import type { RequestContext } from '../../request/context.js';
import type { HandlerEnvironment } from '../handlers/scope.js';

/** Reports a request for a deprecated version to the client, the audit log and a metric. */
export function warnOfDeprecation(
  served: Pick<ServedVersion, 'version' | 'groupResource' | 'gvk'>,
  context: RequestContext,
  { metrics }: Pick<HandlerEnvironment, 'metrics'>,
): void {
  const { version } = served;
  if (!version.deprecated) return;
  const { removedRelease = '' } = version;
  const { subresource } = context.info;
  if (context.served !== false)
    metrics.deprecatedRequested({ ...served.groupResource, version: version.name, subresource, removedRelease });
  const { group, kind } = served.gvk;
  context.warn(version.deprecationWarning ?? `${group}/${version.name} ${kind} is deprecated`);
  context.annotate('k8s.io/deprecated', 'true');
  if (removedRelease !== '') context.annotate('k8s.io/removed-release', removedRelease);
}
