import { ADOPTION_STAGE } from '../protocol/names.js';
import {
  deepCopy,
  deepEqual,
  type JsonObject,
  objectAt,
  objectsOf,
  stringsOf,
  textOf,
} from '../../apimachinery/json/json.js';
import { parseJson } from '../../apimachinery/json/decode.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { type DiscoveredType, missingInDiscovery } from '../preflight/discovery.js';
import { ClusterError, type ClusterClient } from '../../client/cluster-client.js';
import { servedVersions } from '../../registry/builtin/kubeannex/resource-definitions.js';
import type { KubeApiserver } from './kube-apiservers.js';

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** List items lack these fields. */
const TYPE = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
/** An annotation on a CustomResourceDefinition: the versions that were served before Annex served the group. */
export const SERVED_BEFORE = 'kubeannex.io/served-versions';
/** An annotation on a CustomResourceDefinition with the back door: its previous conversion. */
const CONVERSION_BEFORE = 'kubeannex.io/conversion';
/**
 * The prefix of extra versions through which Annex reads and writes the cluster's copy while requests for all other versions are routed to
 * Annex. Each replica that leads the return has its own, so that late requests of another one go nowhere.
 */
const BACK_DOOR = 'annexreturn';
export const backDoor = (attempt: number): string => `${BACK_DOOR}${attempt}`;
/** A field of the back door once the other versions are served again: a server that can select by it has loaded that definition. */
const RESTORED_FIELD = 'annexServedAgain';
/** The same while Annex takes writes. */
const LOADED_FIELD = 'annexServedEarly';
const ANYTHING = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
/**
 * A category that the types of a group have while it goes back to the cluster. It restarts their watch caches, and in the discovery of a
 * kube-apiserver it tells the cluster's own resources from those of Annex.
 */
const MARK = 'annex-given-back';
const ATTEMPTS = 10;

/** The definitions of a group in the cluster; their versions are not served while Annex serves them. */
export class ClusterDefinitions {
  constructor(
    private readonly client: Pick<ClusterClient, 'call' | 'must'>,
    private readonly group: string,
  ) {}

  async list(): Promise<KubeObject[]> {
    const all = await this.client.must('GET', PATH);
    return (objectsOf(all?.['items']) as readonly JsonObject[] as readonly KubeObject[]).filter(
      (crd) => objectAt(crd, 'spec')?.['group'] === this.group,
    );
  }

  /** Stops serving all versions. This ends watches that kube-apiserver would otherwise leave open and silent. */
  async stopServing(): Promise<void> {
    await this.change((crd) => {
      const served = versionsOf(crd).filter((version) => version['served'] === true && !isBackDoor(version));
      if (served.length === 0) return undefined;
      const before = crd.metadata.annotations?.[SERVED_BEFORE] ?? '';
      const names = [...new Set([...before.split(','), ...served.map(({ name }) => textOf(name))])].filter(
        (name) => name !== '',
      );
      const versions = versionsOf(crd).map((version) => ({ ...version, served: isBackDoor(version) }));
      const annotations = { ...crd.metadata.annotations, [SERVED_BEFORE]: names.join(',') };
      return withSpec(crd, annotations, { ...objectAt(crd, 'spec'), versions });
    });
  }

  /**
   * Serves the previous versions again, with their previous conversion. If they are not recorded, serves those of Annex's definitions. The
   * back door stays and signals it: see `isRestored`.
   */
  async restore(definitions: readonly KubeObject[] = []): Promise<void> {
    await this.change((crd) => withServedVersions(crd, definitions, RESTORED_FIELD));
  }

  /**
   * Serves the versions while Annex still takes writes, so that kube-apiservers load the objects before writes are refused. Types that a
   * webhook converts are left out: nothing could be written through the back door.
   */
  async restoreEarly(definitions: readonly KubeObject[]): Promise<void> {
    await this.change((crd) => {
      const conversion = crd.metadata.annotations?.[CONVERSION_BEFORE];
      if (conversion !== undefined && isByWebhook(conversion)) return undefined;
      return withServedVersions(crd, definitions, LOADED_FIELD);
    });
  }

  /** Makes every kube-apiserver load the types of `restoreEarly` again. */
  async reload(): Promise<void> {
    await this.change((crd) => {
      const versions = versionsOf(crd);
      if (!versions.some((version) => signalOf(version) === LOADED_FIELD)) return undefined;
      const next = versions.map((version) => (isBackDoor(version) ? withSignal(version, RESTORED_FIELD) : version));
      return withSpec(crd, { ...crd.metadata.annotations }, { ...objectAt(crd, 'spec'), versions: next });
    });
  }

  /**
   * Reports whether a kube-apiserver has loaded the definitions whose back door signals that the other versions are served, wherever it
   * routes requests for those.
   */
  async isRestored(server: KubeApiserver, crds: readonly KubeObject[]): Promise<boolean> {
    for (const crd of crds) {
      const plural = textOf(objectAt(objectAt(crd, 'spec'), 'names')?.['plural']);
      for (const version of versionsOf(crd)) {
        const field = signalOf(version);
        if (field === undefined) continue;
        const query = `&fieldSelector=${field}%3Dyes`;
        if (!(await this.isOpen(server, textOf(version['name']), [plural], query))) return false;
      }
    }
    return true;
  }

  /** Returns what the discovery of a kube-apiserver lacks of the cluster's own types; those of Annex do not count while the cluster's are marked. */
  async missingInDiscovery(server: KubeApiserver, crds: readonly KubeObject[]): Promise<string> {
    const [marked, others] = [crds.filter(isMarked), crds.filter((crd) => !isMarked(crd))];
    const missing = await missingInDiscovery(server, marked.map(discoveredType), MARK);
    return missing !== '' || others.length === 0 ? missing : missingInDiscovery(server, others.map(discoveredType));
  }

  /** Reports whether a kube-apiserver serves the types in the version of a back door. */
  async isOpen(server: KubeApiserver, door: string, plurals: readonly string[], query = ''): Promise<boolean> {
    for (const plural of plurals) {
      const { status } = await server.call('GET', `/apis/${this.group}/${door}/${plural}?limit=1${query}`);
      if (status !== 200) return false;
    }
    return true;
  }

  /**
   * Serves a version that accepts any content, and replaces one opened earlier; nothing is converted while no other version is served. If a
   * webhook converts the type, the versions other than the storage version accept anything meanwhile (see `withPermissiveSchema`). Changes that were
   * made to definitions in Annex reach the cluster before any object that needs them.
   */
  async openBackDoor(door: string, definitions: readonly KubeObject[]): Promise<void> {
    const present = new Set((await this.list()).map(({ metadata: { name } }) => name));
    // A deleted definition is created again from that of Annex, with no version served.
    for (const definition of definitions)
      if (!present.has(definition.metadata.name))
        await this.client.must('POST', PATH, { ...TYPE, ...unservedCrdOf(definition) });
    await this.change((crd) => {
      const definition = definitions.find(({ metadata: { name } }) => name === crd.metadata.name);
      const isChanged = (definition?.metadata.generation ?? 1) > 1;
      const known = isChanged && definition !== undefined ? unservedCrdOf(definition) : crd;
      const annotations = { ...crd.metadata.annotations, ...known.metadata.annotations };
      const spec = objectAt(known, 'spec') ?? {};
      const all = versionsOf(known).filter((version) => !isBackDoor(version));
      const conversion = JSON.stringify(spec['conversion'] ?? { strategy: 'None' });
      const versions = definition !== undefined && isByWebhook(conversion) ? all.map(withPermissiveSchema) : all;
      const isOpen = versionsOf(crd).some(isBackDoor);
      if (isChanged || !isOpen) annotations[CONVERSION_BEFORE] = conversion;
      const open = { ...spec, versions: [...versions, doorOf(door, versions)], conversion: { strategy: 'None' } };
      const isDone =
        isOpen && deepEqual(objectAt(crd, 'spec'), open) && deepEqual(crd.metadata.annotations, annotations);
      return isDone ? undefined : withSpec(crd, annotations, open);
    });
  }

  /** `definitions`: those of Annex, if the back door was opened with any. */
  async closeBackDoor(definitions: readonly KubeObject[] = []): Promise<void> {
    await this.change((crd) => {
      const { [CONVERSION_BEFORE]: before, ...annotations } = crd.metadata.annotations ?? {};
      if (before === undefined && !versionsOf(crd).some(isBackDoor)) return undefined;
      const spec = withoutMark(objectAt(crd, 'spec') ?? {});
      const ofAnnex = definitions.find(({ metadata: { name } }) => name === crd.metadata.name);
      const versions = withOriginalSchemas(versionsOf(crd), before, ofAnnex).filter((version) => !isBackDoor(version));
      const conversion = before === undefined ? spec['conversion'] : parseJson(before);
      return withSpec(crd, annotations, { ...spec, versions, ...(conversion !== undefined && { conversion }) });
    });
  }

  /**
   * Makes every kube-apiserver restart the watch caches of the group, which it does when a definition changes: watches from an older revision,
   * such as those of Annex by then, get 410, and their clients list again. The change is an extra category, which `unmark` removes.
   */
  async restartCaches(): Promise<void> {
    await this.change((crd) => withChangedSpec(crd, withMark));
  }

  async unmark(): Promise<void> {
    await this.change((crd) => withChangedSpec(crd, withoutMark));
  }

  private async change(next: (crd: KubeObject) => KubeObject | undefined): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        for (const crd of await this.list()) {
          const wanted = next(crd);
          if (wanted !== undefined) await this.client.must('PUT', `${PATH}/${crd.metadata.name ?? ''}`, wanted);
        }
        return;
      } catch (error) {
        if (!(error instanceof ClusterError && error.status === 409) || attempt >= ATTEMPTS) throw error;
      }
    }
  }
}

const versionsOf = (crd: KubeObject): readonly JsonObject[] => objectsOf(objectAt(crd, 'spec')?.['versions']);

/** Returns the definition with its previous versions served; undefined if they are, or are not known. */
function withServedVersions(
  crd: KubeObject,
  definitions: readonly KubeObject[],
  signal: string,
): KubeObject | undefined {
  const { [SERVED_BEFORE]: before, [CONVERSION_BEFORE]: conversion, ...annotations } = crd.metadata.annotations ?? {};
  const versions = versionsOf(crd);
  const isServed = versions.some((version) => version['served'] === true && !isBackDoor(version));
  if (before === undefined && isServed) return undefined;
  const ofAnnex = definitions.find(({ metadata: { name } }) => name === crd.metadata.name);
  const names = new Set(before?.split(',') ?? (ofAnnex === undefined ? [] : servedVersions(ofAnnex)));
  if (names.size === 0) return undefined;
  const restored = withOriginalSchemas(versions, conversion, ofAnnex).map((version) =>
    isBackDoor(version)
      ? withSignal(version, signal)
      : { ...version, served: version['served'] === true || names.has(textOf(version['name'])) },
  );
  const spec = { ...withMark(objectAt(crd, 'spec') ?? {}), versions: restored };
  return withSpec(crd, annotations, conversion === undefined ? spec : { ...spec, conversion: parseJson(conversion) });
}

/** Returns the back door with a field that a server can select by. */
function withSignal(door: JsonObject, field: string): JsonObject {
  const properties = { [field]: { type: 'string' } };
  return {
    ...door,
    schema: { openAPIV3Schema: { ...ANYTHING.openAPIV3Schema, properties } },
    selectableFields: [{ jsonPath: `.${field}` }],
  };
}

/** The field by which a back door signals that the other versions are served; undefined for other versions. */
function signalOf(version: JsonObject): string | undefined {
  if (!isBackDoor(version)) return undefined;
  const [field] = objectsOf(version['selectableFields']);
  return field && textOf(field['jsonPath']).slice(1);
}

const withSpec = (crd: KubeObject, annotations: Record<string, string>, spec: JsonObject): KubeObject =>
  deepCopy({ ...TYPE, ...crd, metadata: { ...crd.metadata, annotations }, spec });

/** Converts a definition of Annex to one of the cluster with no version served. */
function unservedCrdOf(definition: KubeObject): KubeObject {
  const { name = '', labels, annotations = {} } = definition.metadata;
  const { [ADOPTION_STAGE]: _, ...kept } = annotations;
  const metadata = {
    name,
    ...(labels !== undefined && { labels: { ...labels } }),
    annotations: { ...kept, [SERVED_BEFORE]: servedVersions(definition).join(',') },
  };
  const versions = versionsOf(definition).map((version) => ({ ...version, served: false }));
  return { metadata, spec: deepCopy({ ...objectAt(definition, 'spec'), versions }) };
}

const withMark = (spec: JsonObject): JsonObject =>
  withCategories(spec, (categories) => [...categories.filter((one) => one !== MARK), MARK]);

const withoutMark = (spec: JsonObject): JsonObject =>
  withCategories(spec, (categories) => categories.filter((one) => one !== MARK));

function withCategories(spec: JsonObject, next: (categories: readonly string[]) => string[]): JsonObject {
  const { categories: before, ...others } = objectAt(spec, 'names') ?? {};
  const categories = next(stringsOf(before));
  return { ...spec, names: categories.length === 0 ? others : { ...others, categories } };
}

/** Returns the definition with another spec, or undefined if it does not change. */
function withChangedSpec(crd: KubeObject, next: (spec: JsonObject) => JsonObject): KubeObject | undefined {
  const before = objectAt(crd, 'spec') ?? {};
  const spec = next(before);
  return deepEqual(before, spec) ? undefined : withSpec(crd, { ...crd.metadata.annotations }, spec);
}

/** Returns a version that accepts any content. If the type has a status subresource, status changes do not raise the generation here, either. */
function doorOf(name: string, versions: readonly JsonObject[]): JsonObject {
  const stored = versions.find((version) => version['storage'] === true);
  const status = objectAt(objectAt(stored, 'subresources'), 'status');
  return {
    ...{ name, served: true, storage: false, schema: ANYTHING },
    ...(status !== undefined && { subresources: { status: {} } }),
  };
}

/** `conversion` is JSON, as in the annotation. */
const isByWebhook = (conversion: string): boolean =>
  textOf((parseJson(conversion) as JsonObject)['strategy']) === 'Webhook';

/**
 * Returns a non-storage version with a schema that accepts anything. kube-apiserver compares an object being written in the version of each
 * entry of managedFields. If it does not fit that schema, the object loses all its managedFields, because nothing converts it.
 */
const withPermissiveSchema = (version: JsonObject): JsonObject =>
  version['storage'] === true
    ? version
    : { name: version['name'] ?? '', served: version['served'] ?? false, storage: false, schema: ANYTHING };

/** Undoes `withPermissiveSchema`: takes the versions from Annex's definition, which came from the cluster or have replaced those there. */
function withOriginalSchemas(
  versions: readonly JsonObject[],
  conversion: string | undefined,
  definition: KubeObject | undefined,
): readonly JsonObject[] {
  if (conversion === undefined || definition === undefined || !isByWebhook(conversion)) return versions;
  const known = new Map(versionsOf(definition).map((version) => [version['name'], version]));
  return versions.map((version) => {
    const before = version['storage'] === true ? undefined : known.get(version['name']);
    return before === undefined ? version : { ...before, served: version['served'] ?? false };
  });
}

const isMarked = (crd: KubeObject): boolean =>
  stringsOf(objectAt(objectAt(crd, 'spec'), 'names')?.['categories']).includes(MARK);

/** Returns the type of a definition of the cluster as discovery must list it, without the back door. */
export function discoveredType(crd: KubeObject): DiscoveredType {
  const spec = objectAt(crd, 'spec');
  const versions = servedVersions(crd).filter((name) => !isBackDoor({ name }));
  return { group: textOf(spec?.['group']), plural: textOf(objectAt(spec, 'names')?.['plural']), versions };
}

/** Returns the names of the APIServices of some types. */
export const apiServicesOf = (types: readonly DiscoveredType[]): readonly string[] => [
  ...new Set(types.flatMap(({ group, versions }) => versions.map((one) => `${one}.${group}`))),
];

export const isBackDoor = ({ name }: JsonObject): boolean => textOf(name).startsWith(BACK_DOOR);
