import { ADOPTION_PREFIX } from '../protocol/names.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { KubeApiserver } from './kube-apiservers.js';

const PATH = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
const APPLY = 'application/apply-patch+yaml';
const EXECUTING = 'apiserver_flowcontrol_current_executing_requests';
/** Requests of administrators belong to it, whatever other FlowSchemas say. */
const EXEMPT = 'exempt';

export interface InFlightWritesOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  readonly group: string;
}

/**
 * Counts the writes to a group that a kube-apiserver is executing, with a FlowSchema of Annex's own. A write that has passed admission may
 * be committed seconds later, and no fence stops it.
 */
export class InFlightWrites {
  private readonly name: string;

  constructor(private readonly options: InFlightWritesOptions) {
    this.name = ADOPTION_PREFIX + options.group;
  }

  /** Starts counting. Returns the UID of the FlowSchema. */
  async count(): Promise<string> {
    const path = `${PATH}/${this.name}?fieldManager=annex&force=true`;
    const made = await this.options.client.must('PATCH', path, this.schema(), APPLY);
    return made?.metadata.uid ?? '';
  }

  async remove(): Promise<void> {
    await this.options.client.must('DELETE', `${PATH}/${this.name}`);
  }

  /** Reports whether a kube-apiserver assigns a write to the resource, in a version, to the FlowSchema. */
  async isCounted(server: KubeApiserver, uid: string, groupVersion: string, resource: string): Promise<boolean> {
    // Such an object cannot exist: names have no colon.
    const { headers } = await server.plain('DELETE', `/apis/${groupVersion}/${resource}/annex:none?dryRun=All`);
    return headers['x-kubernetes-pf-flowschema-uid'] === uid;
  }

  /** Adds the counters that are zero now to `seen`. Returns true once all of them have been seen at zero. */
  async isDrained(server: KubeApiserver, seen: Set<string>): Promise<boolean> {
    const { status, text } = await server.plain('GET', '/metrics');
    if (status !== 200) throw new Error(`GET /metrics: ${status}`);
    for (const name of [this.name, EXEMPT]) if (executing(text, name) === 0) seen.add(name);
    return seen.has(this.name) && seen.has(EXEMPT);
  }

  private schema(): JsonObject {
    const group = (name: string): JsonObject => ({ kind: 'Group', group: { name } });
    return {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'FlowSchema',
      metadata: { name: this.name },
      spec: {
        // Counting must not queue any writes.
        priorityLevelConfiguration: { name: EXEMPT },
        matchingPrecedence: 2,
        rules: [
          {
            subjects: [group('system:authenticated'), group('system:unauthenticated')],
            resourceRules: [
              {
                verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
                apiGroups: [this.options.group],
                resources: ['*'],
                namespaces: ['*'],
                clusterScope: true,
              },
            ],
          },
        ],
      },
    };
  }
}

/** Returns the number of executing requests of a FlowSchema according to the metrics; 0 if there were none. */
function executing(metrics: string, schema: string): number {
  let sum = 0;
  for (const line of metrics.split('\n')) {
    if (line.startsWith(`${EXECUTING}{`) && line.includes(`flow_schema="${schema}"`))
      sum += Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return sum;
}
