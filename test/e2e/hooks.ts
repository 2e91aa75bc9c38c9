import { dig, digList, digText, treeOf } from '../integration/client.js';
import { eventually } from '../integration/server.js';
import { NAMESPACE, outcomeOf, replaced, type TestCluster } from './cluster.js';

/** Flags whose values are paths in a pod. Here they get the paths of a replica. */
const PLACES = ['data-dir', 'cache-dir', 'mongodb-uri-file', 'kubeconfig', 'admission-control-config-file'];

/**
 * Plays the kubelet for a pod: runs its command under its service account, and reports how it ended. Resolves with the output of the
 * command.
 */
export async function runPod(cluster: TestCluster, podName: string): Promise<string> {
  const pods = ['-n', NAMESPACE, 'get', 'pods', `--field-selector=metadata.name=${podName}`, '-o', 'json'];
  const pod = await eventually(`the pod ${podName}`, async () =>
    digList(treeOf({ text: await cluster.kubectl.ok(pods) }), 'items').find(
      (one) => digText(one, 'status', 'phase') === 'Pending',
    ),
  );
  const [main = '', , ...flags] = cluster.replica(0).daemon.args;
  const places = PLACES.map((name) => {
    const flag = flags.find((one) => one.startsWith(`--${name}=`));
    return [name, flag?.slice(name.length + 3)] as const;
  });
  const args = digList(pod, 'spec', 'containers', 0, 'args').map(String);
  // Each kube-apiserver is reached at an address that its certificate names.
  const reached = args[0] === 'doctor' ? flags.filter((flag) => flag.startsWith('--cluster-api-servers=')) : [];
  const command = [main, ...replaced(args, Object.fromEntries(places)), ...reached];
  const { code, out } = await outcomeOf(process.execPath, command);
  const name = digText(dig(pod, 'metadata'), 'name');
  const status = JSON.stringify({ status: { phase: code === 0 ? 'Succeeded' : 'Failed' } });
  const patch = ['-n', NAMESPACE, 'patch', 'pod', name, '--subresource=status', '--type=merge', '-p', status];
  await cluster.kubectl.ok(patch);
  return out;
}
