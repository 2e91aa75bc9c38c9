import { deepCopy, type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../../../client/cluster-client.js';

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Items of lists do not tell. */
const TYPE = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
/** On a CustomResourceDefinition: the versions that were served before Annex served the group. */
const SERVED_BEFORE = 'kubeannex.io/served-versions';
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
  const copy = deepCopy(crd);
  const versions = versionsOf(copy).map((version) => ({ ...version, served: isServed(version) }));
  const spec = { ...objectAt(copy, 'spec'), versions };
  return { ...TYPE, ...copy, metadata: { ...copy.metadata, annotations }, spec };
}
