import { dig, digList, type Http1, treeOf } from './client.js';
import { eventually } from './server.js';

/** A definition of a namespaced type with status and scale. */
export function definition(group: string, plural: string, kind: string, extra: object = {}): object {
  const string = { type: 'string' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        plural,
        kind,
        singular: kind.toLowerCase(),
        shortNames: [`${plural.slice(0, 2)}x`],
        categories: ['all'],
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
          },
          additionalPrinterColumns: [
            { name: 'Size', type: 'string', jsonPath: '.spec.size' },
            { name: 'Owner', type: 'string', jsonPath: '.spec.owner', priority: 1 },
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
          selectableFields: [{ jsonPath: '.spec.size' }],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: `${kind} of a test.`,
              properties: {
                spec: {
                  type: 'object',
                  description: 'What is wished.',
                  properties: {
                    size: { ...string, description: 'How large it is.', enum: ['small', 'large'] },
                    owner: string,
                    text: string,
                    replicas: { type: 'integer', minimum: 0 },
                    list: { type: 'array', items: string },
                  },
                },
                status: {
                  type: 'object',
                  properties: {
                    replicas: { type: 'integer' },
                    conditions: {
                      type: 'array',
                      items: { type: 'object', properties: { type: string, status: string } },
                    },
                  },
                },
              },
            },
          },
        },
      ],
      ...extra,
    },
  };
}

export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Creates a definition and waits until its objects can be created. */
export async function define(
  http: Http1,
  group: string,
  plural: string,
  kind: string,
  extra: object = {},
): Promise<void> {
  const made = await http.post(DEFINITIONS, definition(group, plural, kind, extra));
  if (made.status !== 201) throw new Error(made.text);
  await eventually(`${plural} are served`, async () => {
    const { status, text } = await http.get(`${DEFINITIONS}/${plural}.${group}`);
    if (status !== 200) return undefined;
    const conditions = digList(treeOf({ text }), 'status', 'conditions');
    if (!conditions.some((one) => dig(one, 'type') === 'Established' && dig(one, 'status') === 'True'))
      return undefined;
    const list = await http.get(`/apis/${group}/v1/${plural}`);
    return list.status === 200 ? list : undefined;
  });
}

export const configMap = (name: string, data: Readonly<Record<string, string>> = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

export const namespace = (name: string): object => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

/** A ClusterRole with 300 rules. Roles are kept decoded, so they fill the heap fastest. */
export const largeRole = (i: number): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: `heap-${i}` },
  rules: Array.from({ length: 300 }, (_, k) => ({
    apiGroups: [`group-${i}-${k}.example.com`],
    resources: [`resource-${i}-${k}`],
    verbs: ['get'],
  })),
});
