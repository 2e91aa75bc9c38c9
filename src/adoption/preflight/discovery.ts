import { type JsonObject, objectAt, objectsOf, stringsOf, textOf } from '../../apimachinery/json/json.js';
import type { ClusterClient } from '../../client/cluster-client.js';

/** A type that aggregated discovery must list. */
export interface DiscoveredType {
  readonly group: string;
  readonly plural: string;
  readonly versions: readonly string[];
}

/**
 * Returns what the aggregated discovery of one kube-apiserver lacks of some types; '' if it lacks nothing. With `category`, only resources
 * with that category count.
 */
export async function missingInDiscovery(
  server: Pick<ClusterClient, 'discovery'>,
  types: readonly DiscoveredType[],
  category?: string,
): Promise<string> {
  const groups = await server.discovery();
  if (groups === undefined) return '';
  const found = new Set(groups.flatMap((group) => resourcesOf(group, category)));
  const missing = types.flatMap(({ group, plural, versions }) =>
    versions
      .filter((version) => !found.has(`${plural} ${group}/${version}`))
      .map((version) => ({ plural, group, version })),
  );
  const [first] = missing;
  if (first === undefined) return '';
  const more = missing.length === 1 ? '' : `, and ${missing.length - 1} more`;
  return `its discovery lacks ${first.plural} of ${first.group}/${first.version}${more}`;
}

function resourcesOf(group: JsonObject, category: string | undefined): string[] {
  const name = textOf(objectAt(group, 'metadata')?.['name']);
  return objectsOf(group['versions']).flatMap((version) =>
    objectsOf(version['resources'])
      .filter(({ categories }) => category === undefined || stringsOf(categories).includes(category))
      .map(({ resource }) => `${textOf(resource)} ${name}/${textOf(version['version'])}`),
  );
}
