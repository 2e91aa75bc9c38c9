import { objectAt } from '../../../../src/apimachinery/json/json.js';
import { dig, digText, treeOf } from '../../../integration/client.js';
import type { Random } from '../../../model/random.js';
import { pause } from '../../../storage/mongod.js';
import type { TestCluster } from '../../cluster.js';

/** A fault during the switch of a group. */
export interface Fault {
  readonly name: string;
  /** Returns undefined if the fault cannot be injected now. */
  inject(cluster: TestCluster, group: string, random: Random): Promise<Heal | undefined>;
}

type Heal = () => Promise<void>;

const nothing: Heal = () => Promise.resolve();
const RESOURCE_DEFINITIONS = '/apis/kubeannex.io/v1/resourcedefinitions';

/** Runs kubectl as a user who interferes. The command may fail if the object does not exist or a server is busy. */
async function meddle(cluster: TestCluster, ...args: string[]): Promise<Heal | undefined> {
  return (await cluster.kubectl.run(args)).code === 0 ? nothing : undefined;
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'kill -9 of a replica',
    async inject(cluster, _, random) {
      const { daemon } = cluster.replica(random.below(2));
      await daemon.stop('SIGKILL');
      return async () => {
        daemon.start();
        await cluster.replicasReady(2);
      };
    },
  },
  {
    name: 'a replica stands still',
    inject(cluster, _, random) {
      const { daemon } = cluster.replica(random.below(2));
      daemon.signal('SIGSTOP');
      return Promise.resolve(() => {
        daemon.signal('SIGCONT');
        return Promise.resolve();
      });
    },
  },
  {
    name: 'kill -9 of a kube-apiserver',
    async inject(cluster, _, random) {
      const { apiserver, second = apiserver } = cluster;
      const server = random.chance(0.5) ? apiserver : second;
      await server.stop('SIGKILL');
      return async () => {
        server.start();
        await ready(cluster);
      };
    },
  },
  {
    name: 'kill -9 of etcd',
    async inject(cluster) {
      await cluster.etcd.stop('SIGKILL');
      return async () => {
        cluster.etcd.start();
        await ready(cluster);
      };
    },
  },
  {
    name: "kill -9 of MongoDB's primary",
    async inject(cluster) {
      const primary = await cluster.mongodb.primary();
      await primary.kill('SIGKILL');
      return () => primary.launch();
    },
  },
  {
    name: 'Annex is cut off from the cluster',
    inject({ proxies }, _, random) {
      const silent = random.chance(0.5);
      for (const proxy of proxies) {
        if (silent) proxy.swallow();
        else proxy.cut();
      }
      return Promise.resolve(() => {
        for (const proxy of proxies) proxy.pass();
        return Promise.resolve();
      });
    },
  },
  {
    name: 'the Adoption is deleted',
    inject: (cluster, group) => meddle(cluster, 'delete', 'adoption', group, '--wait=false'),
  },
  {
    name: 'the ResourceDefinition is deleted',
    async inject({ http }, group) {
      const path = `${RESOURCE_DEFINITIONS}/widgets.${group}`;
      const found = treeOf(await http.get(path));
      // Once the group is served, deleting its ResourceDefinition deletes its objects, as it should.
      const stage = dig(found, 'metadata', 'annotations', 'kubeannex.io/adoption');
      if (stage !== 'Copying' && stage !== 'Switching') return undefined;
      const preconditions = { resourceVersion: digText(found, 'metadata', 'resourceVersion') };
      const { status } = await http.send({ method: 'DELETE', path, body: JSON.stringify({ preconditions }) });
      return status < 300 ? nothing : undefined;
    },
  },
  {
    name: 'the APIService is deleted',
    inject: (cluster, group) => meddle(cluster, 'delete', 'apiservice', `v1.${group}`),
  },
  {
    name: 'the APIService leads elsewhere',
    inject: (cluster, group) => {
      const spec = {
        service: { name: 'nobody', namespace: 'default', port: 443 },
        insecureSkipTLSVerify: true,
        caBundle: null,
      };
      return meddle(cluster, 'patch', 'apiservice', `v1.${group}`, '--type=merge', '-p', JSON.stringify({ spec }));
    },
  },
  {
    name: 'the fence is removed',
    inject: (cluster, group, random) => {
      const kind = random.pick(['validatingadmissionpolicy', 'validatingadmissionpolicybinding']);
      return meddle(cluster, 'delete', kind, `annex-adoption.${group}`);
    },
  },
  {
    name: 'the fence is opened for somebody',
    inject: (cluster, group) => {
      const matchConditions = [{ name: 'nobody', expression: 'false' }];
      const patch = JSON.stringify({ spec: { matchConditions } });
      const policy = ['validatingadmissionpolicy', `annex-adoption.${group}`];
      return meddle(cluster, 'patch', ...policy, '--type=merge', '-p', patch);
    },
  },
];

async function ready(cluster: TestCluster): Promise<void> {
  for (const server of cluster.https) {
    for (;;) {
      const answer = await server.get('/readyz').catch(() => undefined);
      if (answer?.status === 200) break;
      await pause(50);
    }
  }
}

/** Returns the progress of an Adoption on the way back, or '' if it is not on the way back or no server answers. */
export async function backOf({ http }: TestCluster, group: string): Promise<string> {
  const answer = await http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${group}`).catch(() => undefined);
  if (answer?.status !== 200) return '';
  const record = objectAt(objectAt(treeOf(answer), 'status'), 'switch');
  return typeof record?.['back'] === 'string' ? record['back'] : '';
}

/** Returns the phase of an Adoption, `Gone` if it does not exist, or '' if no server answers. */
export async function phaseOf({ http }: TestCluster, group: string): Promise<string> {
  const path = `/apis/kubeannex.io/v1alpha1/adoptions/${group}`;
  const answer = await http.get(path).catch(() => undefined);
  if (answer?.status === 404 && answer.text.includes(`"${group}\\" not found`)) return 'Gone';
  if (answer?.status !== 200) return '';
  const phase = objectAt(treeOf(answer), 'status')?.['phase'];
  return typeof phase === 'string' ? phase : '';
}
