import { type JsonObject, stringsOf } from '../../../src/apimachinery/json/json.js';
import { type Answer, dig, digList, digText, treeOf } from '../client.js';
import { eventually } from '../server.js';
import { Stand } from '../where/stand.js';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const KUBEANNEX = '/apis/kubeannex.io/v1alpha1';
export const GROUP = 'undo.example.com';

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { size: { type: 'integer', maximum: 100 }, note: { type: 'string' } },
    },
    status: { type: 'object', properties: { ready: { type: 'boolean' } } },
  },
};

/** The definition of Widgets, which have a status. */
export const WIDGETS: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: SCHEMA } },
    ],
  },
};

let restores = 0;

/** A standalone server with Widgets, whose objects are changed, deleted and brought back. */
export class UndoStand extends Stand {
  async define(): Promise<void> {
    await this.http.post(DEFINITIONS, WIDGETS);
    await this.served();
  }

  async served(): Promise<void> {
    await eventually('Widgets', async () => (await this.http.get(pathOf('n1'))).status === 200 || undefined);
  }

  async widget(namespace: string, name: string, spec: JsonObject, metadata: JsonObject = {}): Promise<JsonObject> {
    const body = { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name, ...metadata }, spec };
    return created(await this.http.post(pathOf(namespace), body));
  }

  async patched(path: string, body: JsonObject): Promise<JsonObject> {
    const headers = { 'content-type': 'application/merge-patch+json' };
    return created(await this.http.send({ method: 'PATCH', path, body, headers }));
  }

  async remove(path: string): Promise<void> {
    const answer = await this.http.send({ method: 'DELETE', path });
    if (answer.status !== 200) throw new Error(answer.text);
    await eventually('the deletion', async () => (await this.http.get(path)).status === 404 || undefined);
  }

  /** Lists revisions, and returns what is asked for of each. */
  async revisions(path: string, query: Readonly<Record<string, string>> = {}): Promise<readonly JsonObject[]> {
    const answer = await this.http.get(`${KUBEANNEX}/${path}?${new URLSearchParams(query).toString()}`);
    if (answer.status !== 200) throw new Error(answer.text);
    return digList(treeOf(answer), 'items') as JsonObject[];
  }

  /** Creates an ObjectRestore and returns its status when it has ended. */
  async restore(spec: JsonObject, token?: string): Promise<JsonObject> {
    const name = `restore-${String(++restores)}`;
    const body = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'ObjectRestore', metadata: { name }, spec };
    created(
      await this.http.send({ method: 'POST', path: `${KUBEANNEX}/objectrestores`, body, ...(token && { token }) }),
    );
    return eventually('the restore', async () => {
      const restore = treeOf(await this.http.get(`${KUBEANNEX}/objectrestores/${name}`));
      const phase = dig(restore, 'status', 'phase');
      return phase === 'Complete' || phase === 'Failed' ? (restore['status'] as JsonObject) : undefined;
    });
  }
}

export const pathOf = (namespace: string, name = ''): string =>
  `/apis/${GROUP}/v1/namespaces/${namespace}/widgets${name === '' ? '' : `/${name}`}`;

export const WIDGET_TYPE = { group: GROUP, resource: 'widgets' };

export function created(answer: Answer): JsonObject {
  if (answer.status > 201) throw new Error(answer.text);
  return treeOf(answer);
}

/** Returns the operation, the object and the changed fields of a revision. */
export const shortly = (revision: JsonObject): string =>
  [digText(revision, 'operation'), digText(revision, 'object', 'name'), ...stringsOf(revision['changedFields'])].join(
    ' ',
  );
