import { ADOPTION_STAGE } from '../../../apimachinery/meta/adopted-definitions.js';
import { deepCopy, type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import { parseJson } from '../../../apimachinery/json/decode.js';
import { objectsOf, textOf } from '../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../../../client/cluster-client.js';

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Items of lists do not tell. */
const TYPE = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
/** On a CustomResourceDefinition: the versions that were served before Annex served the group. */
export const SERVED_BEFORE = 'kubeannex.io/served-versions';
/** On one that has the back door: how its objects were converted before. */
const CONVERSION_BEFORE = 'kubeannex.io/conversion';
/** A further version, by which Annex reads and writes the cluster's copy while requests for all others come to Annex. */
export const BACK_DOOR = 'annexreturn';
const ATTEMPTS = 10;

/** The definitions of a group in the cluster, whose versions are not served while Annex serves them. */
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

  /** No version is served: watches that kube-apiserver would leave open, and silent, end. */
  async withdraw(): Promise<void> {
    await this.change((crd) => {
      const versions = versionsOf(crd);
      const served = versions.filter((version) => version['served'] === true);
      if (served.length === 0) return undefined;
      const before = crd.metadata.annotations?.[SERVED_BEFORE] ?? '';
      const names = [...new Set([...before.split(','), ...served.map(({ name }) => textOf(name))])].filter(
        (name) => name !== '',
      );
      return changed(crd, { ...crd.metadata.annotations, [SERVED_BEFORE]: names.join(',') }, () => false);
    });
  }

  /** The versions of before are served again. */
  async restore(): Promise<void> {
    await this.change((crd) => {
      const { [SERVED_BEFORE]: before, ...annotations } = crd.metadata.annotations ?? {};
      if (before === undefined) return undefined;
      const names = new Set(before.split(','));
      return changed(crd, annotations, (version) => version['served'] === true || names.has(textOf(version['name'])));
    });
  }

  /** Serves a version that takes whatever is there; nothing is converted while no other one is served. */
  async openBackDoor(): Promise<void> {
    await this.change((crd) => {
      if (versionsOf(crd).some(isBackDoor)) return undefined;
      const spec = objectAt(crd, 'spec') ?? {};
      const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
      const door = { name: BACK_DOOR, served: true, storage: false, schema: { openAPIV3Schema } };
      const annotations = {
        ...crd.metadata.annotations,
        [CONVERSION_BEFORE]: JSON.stringify(spec['conversion'] ?? { strategy: 'None' }),
      };
      const versions = [...versionsOf(crd), door];
      return withSpec(crd, annotations, { ...spec, versions, conversion: { strategy: 'None' } });
    });
  }

  async closeBackDoor(): Promise<void> {
    await this.change((crd) => {
      const { [CONVERSION_BEFORE]: before, ...annotations } = crd.metadata.annotations ?? {};
      if (before === undefined && !versionsOf(crd).some(isBackDoor)) return undefined;
      const spec = objectAt(crd, 'spec') ?? {};
      const versions = versionsOf(crd).filter((version) => !isBackDoor(version));
      const conversion = before === undefined ? spec['conversion'] : parseJson(before);
      return withSpec(crd, annotations, { ...spec, versions, ...(conversion !== undefined && { conversion }) });
    });
  }

  /** Makes a definition that is gone anew, of that of Annex, with no version served. */
  async recreate(definition: KubeObject): Promise<void> {
    const { name = '', labels, annotations = {} } = definition.metadata;
    const { [ADOPTION_STAGE]: _, ...kept } = annotations;
    const versions = versionsOf(definition);
    const served = versions.filter((version) => version['served'] === true).map((version) => textOf(version['name']));
    const metadata = {
      name,
      ...(labels !== undefined && { labels: { ...labels } }),
      annotations: { ...kept, [SERVED_BEFORE]: served.join(',') },
    };
    const spec = {
      ...deepCopy(objectAt(definition, 'spec') ?? {}),
      versions: versions.map((version) => ({ ...version, served: false })),
    };
    await this.client.must('POST', PATH, { ...TYPE, metadata, spec });
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

function changed(
  crd: KubeObject,
  annotations: Record<string, string>,
  isServed: (version: JsonObject) => boolean,
): KubeObject {
  const versions = versionsOf(crd).map((version) => ({ ...version, served: isServed(version) }));
  return withSpec(crd, annotations, { ...objectAt(crd, 'spec'), versions });
}

const withSpec = (crd: KubeObject, annotations: Record<string, string>, spec: JsonObject): KubeObject =>
  deepCopy({ ...TYPE, ...crd, metadata: { ...crd.metadata, annotations }, spec });

const isBackDoor = ({ name }: JsonObject): boolean => name === BACK_DOOR;
