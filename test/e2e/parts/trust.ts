import { Agent } from 'node:https';
import { dig, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { authority, clientOf, type Pair } from '../certificates.js';
import { run, type TestCluster } from '../cluster.js';
import { directly, metricOf, type Seen } from '../directly.js';
import { GROUP } from '../widgets.js';

const PATH = `/apis/${GROUP}/v1/namespaces/access/widgets`;
const MAP = ['configmap', 'extension-apiserver-authentication', '-n', 'kube-system'];
const ADMINISTRATOR = { 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' };
const NAMES = 'requestheader-allowed-names';
const CAS = 'requestheader-client-ca-file';

/** The cluster publishes its front proxy configuration, and changes it. */
export function trust(cluster: TestCluster): void {
  let original: Readonly<Record<string, string>>;
  const other = authority('another-front-proxy-ca');
  const second = clientOf(other, 'second-proxy');
  const change = (data: Readonly<Record<string, string>>): Promise<string> =>
    cluster.kubectl.ok(['patch', ...MAP, '--type=merge', '-p', JSON.stringify({ data })]);
  const ask = (pair: Pair, replica = 0, agent?: Agent): Promise<Seen> =>
    directly({
      port: cluster.replica(replica).port,
      path: PATH,
      headers: ADMINISTRATOR,
      pair,
      ...(agent !== undefined && { agent }),
    });
  const answered = (pair: Pair, status: number): Promise<true> =>
    eventually(`the answer is ${status}`, async () => {
      const seen = await Promise.all([ask(pair, 0), ask(pair, 1)]);
      return seen.every((one) => one.status === status) ? true : undefined;
    });
  const broken = (): Promise<number> => metricOf(cluster, 'annex_cluster_link_broken', 'link="front-proxy"');
  const doctor = async (): Promise<string> => {
    const { args } = cluster.replica(0).daemon;
    const out = await run(process.execPath, [args[0] ?? '', 'doctor', ...args.slice(2)]).catch(String);
    return out.split('\n').find((line) => line.includes('front-proxy trust')) ?? '';
  };

  describe('trust in the front proxy', () => {
    beforeAll(async () => {
      const map = treeOf({ text: await cluster.kubectl.ok(['get', ...MAP, '-o', 'json']) });
      original = dig(map, 'data') as Readonly<Record<string, string>>;
    });
    afterAll(() => change(original));

    test('a new CA with a new name is trusted as soon as the cluster publishes it', async () => {
      expect(await ask(second)).toMatchObject({ status: 401 });
      await change({ [NAMES]: '["front-proxy-client","second-proxy"]', [CAS]: `${original[CAS]}${other.pem}` });
      await answered(second, 200);
    });

    test('an invalid ConfigMap leaves the last configuration in force and is reported', async () => {
      expect(await broken()).toBe(0);
      await change({ [NAMES]: '"front-proxy-client"' });
      await eventually('the link is broken', async () => ((await broken()) === 1 ? true : undefined));
      expect(cluster.replica(0).daemon.log).toMatch(
        /front-proxy: the ConfigMap kube-system\/extension-apiserver-authentication cannot be used: requestheader-allowed-names is not a list of strings/,
      );
      await answered(second, 200);
      expect(await doctor()).toMatch(
        /front-proxy trust: failed: .*requestheader-allowed-names is not a list of strings/,
      );
    });

    test('what the cluster withdraws is distrusted, and its own proxy still works', async () => {
      await change(original);
      await answered(second, 401);
      await answered(cluster.certificates.proxy('front-proxy-client'), 200);
      expect(await broken()).toBe(0);
      expect(await doctor()).toMatch(/front-proxy trust: ok/);
    });

    test('an expired certificate is no longer trusted, even on an existing connection', async () => {
      let agent = new Agent();
      let pair = cluster.certificates.proxy('front-proxy-client');
      let lasts = 2_000;
      const expired = (): Promise<number> =>
        metricOf(cluster, 'annex_untrusted_request_headers_total', 'reason="expired"', 1);
      // On a busy machine, the certificate may expire before its first use.
      await eventually('it is believed', async () => {
        agent.destroy();
        agent = new Agent({ keepAlive: true, maxSockets: 1 });
        lasts *= 2;
        pair = cluster.certificates.proxy('front-proxy-client', lasts);
        return (await ask(pair, 1, agent)).status === 200 ? true : undefined;
      });
      const before = await expired();
      await eventually('it has expired', async () => ((await ask(pair, 1, agent)).status === 401 ? true : undefined));
      agent.destroy();
      expect(await expired()).toBe(before + 1);
      expect(cluster.replica(1).daemon.log).toMatch(
        /front-proxy: rejected \(401\) a request with user headers from an untrusted client certificate: x509: certificate has expired or is not yet valid: .*--proxy-client-cert-file/,
      );
    });
  });
}
