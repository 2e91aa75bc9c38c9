import { type JsonObject, objectAt, objectsOf, stringsOf, textAt } from '../../apimachinery/json/json.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import { Failure, Refusal } from './failure.js';

/** A resource as discovery shows it. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  /** The plural. */
  readonly name: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** Returns `plural.group`, or the plural in the core group. */
export const fullName = ({ name, group }: Resource): string => (group === '' ? name : `${name}.${group}`);

/** Returns what `-o name` writes before the slash. */
export const kindName = ({ kind, group }: Resource): string =>
  `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}`;

/** Returns the path of a collection, in one namespace if it is named. */
export function pathOf({ group, version, name, namespaced }: Resource, namespace: string | undefined): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespaced && namespace !== undefined ? `${root}/namespaces/${namespace}/${name}` : `${root}/${name}`;
}

const AGGREGATED = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',');

/** The resources of a server, each in the version that its group prefers. */
export class Discovery {
  private constructor(
    private readonly resources: readonly Resource[],
    private readonly groups: readonly string[],
  ) {}

  static async load(client: Pick<ClusterClient, 'exchange'>): Promise<Discovery> {
    const lists = await Promise.all(
      ['/api', '/apis'].map(async (path) => {
        const { status, body } = await client.exchange({ method: 'GET', path, accept: AGGREGATED });
        if (status !== 200) throw Refusal.of(status, body);
        if (body['kind'] !== 'APIGroupDiscoveryList')
          throw new Failure('the server has no aggregated discovery (Kubernetes before 1.27)');
        return objectsOf(body['items']);
      }),
    );
    const all = lists.flat();
    return new Discovery(all.flatMap(resourcesOf), all.map(nameOf));
  }

  static of(resources: readonly Resource[]): Discovery {
    return new Discovery(resources, [...new Set(resources.map(({ group }) => group))]);
  }

  /** Reports whether the server has Annex' own group: then a part of it, at least, is Annex. */
  get hasAnnex(): boolean {
    return this.groups.includes('kubeannex.io');
  }

  /** The resources that have a verb, in the order of discovery. */
  withVerb(verb: string): readonly Resource[] {
    return this.preferred().filter(({ verbs }) => verbs.includes(verb));
  }

  /**
   * Returns the resource that kubectl would take for a plural, singular, short name or kind, with a group or a version and a group behind it.
   * Throws a Failure if there is none.
   */
  resource(given: string): Resource {
    const found = this.find(given);
    if (found === undefined) throw new Failure(`the server doesn't have a resource type "${given}"`);
    return found;
  }

  /** Returns the resources that a type of the command line means: one, or those of a category. */
  resourcesFor(given: string): readonly Resource[] {
    const found = this.find(given);
    if (found !== undefined) return [found];
    const members = this.preferred().filter(
      ({ categories, verbs }) => categories.includes(given) && verbs.includes('list'),
    );
    return members.length > 0 ? members : [this.resource(given)];
  }

  private find(given: string): Resource | undefined {
    const [first = '', ...rest] = given.split('.');
    const named = this.resources.filter((resource) => isNamed(resource, first));
    if (rest.length === 0) return named[0];
    const [version = '', ...group] = rest;
    const exact = named.find((one) => group.length > 0 && one.version === version && one.group === group.join('.'));
    const wanted = rest.join('.');
    return exact ?? named.find((one) => one.group === wanted) ?? named.find((one) => one.group.startsWith(wanted));
  }

  private preferred(): readonly Resource[] {
    const seen = new Set<string>();
    return this.resources.filter((resource) => {
      const name = fullName(resource);
      return !seen.has(name) && seen.add(name);
    });
  }
}

const nameOf = (group: JsonObject): string => textAt(objectAt(group, 'metadata'), 'name');

function isNamed({ name, singular, shortNames, kind }: Resource, given: string): boolean {
  const lower = given.toLowerCase();
  return name === lower || singular === lower || shortNames.includes(lower) || kind === given;
}

function resourcesOf(group: JsonObject): Resource[] {
  return objectsOf(group['versions']).flatMap((version) =>
    objectsOf(version['resources']).map((resource) => {
      const kind = textAt(objectAt(resource, 'responseKind'), 'kind');
      return {
        group: nameOf(group),
        version: textAt(version, 'version'),
        name: textAt(resource, 'resource'),
        singular: textAt(resource, 'singularResource') || kind.toLowerCase(),
        kind,
        shortNames: stringsOf(resource['shortNames']),
        categories: stringsOf(resource['categories']),
        namespaced: resource['scope'] === 'Namespaced',
        verbs: stringsOf(resource['verbs']),
      };
    }),
  );
}
