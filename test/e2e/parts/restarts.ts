import { ask, once, refusals } from '../../integration/asking.js';
import { type Call, Http1 } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { pause } from '../../storage/mongod.js';
import { NAMESPACE as RELEASE_NAMESPACE, type TestCluster } from '../cluster.js';
import { GROUP, widgetsPath, widgetText } from '../widgets.js';

/** The number of restarts. 100 restarts take minutes. */
const RESTARTS = Number(process.env['ANNEX_RESTARTS'] ?? 4);
const NAMESPACE = 'restarts';
const READER = 'restarts-reader';
/** On an idle machine, a start is over by then. */
const START_MILLIS = 2_000;
const AWAY_MILLIS = 2_500;

/** Requests for things that exist, as the aggregator sends them: for an administrator, and for a user with permissions by the cluster's roles. */
function questions(path: string): Call[] {
  const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const patch = { method: 'PATCH', body: { metadata: { labels: { a: 'b' } } } };
  const merge = { 'content-type': 'application/merge-patch+json' };
  const users = [{ 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' }, { 'X-Remote-User': READER }];
  return users.flatMap((headers): Call[] => [
    { path, headers },
    { path: `${path}/one`, headers },
    { path: `${path}?watch=true`, headers },
    { path: `${path}/one?dryRun=All`, method: 'DELETE', headers },
    { path: `${path}/one?dryRun=All`, ...patch, headers: { ...headers, ...merge } },
    ...['/apis', `/apis/${GROUP}`, `/apis/${GROUP}/v1`, '/openapi/v3', '/openapi/v2'].map((at) => ({
      path: at,
      headers,
    })),
    { path: '/apis', headers: { ...headers, accept: aggregated } },
  ]);
}

/** Kills and restarts a replica. Requests go to it from the first moment on, and clients of the cluster send the same meanwhile. */
export function restarts(cluster: TestCluster, say: (line: string) => void): void {
  const path = widgetsPath(NAMESPACE);

  async function restart(meanwhile: () => Promise<void>): Promise<number> {
    const { daemon, port } = cluster.replica(1);
    const { cert: certificate, key } = cluster.certificates.proxy('front-proxy-client');
    await daemon.stop('SIGKILL');
    // The server's certificate is in the store, so it is unknown here.
    const address = { url: `https://127.0.0.1:${port}`, ca: '' };
    const direct = new Http1(address, 64, { key, certificate, trusting: true });
    let over = false;
    daemon.start();
    const asking = questions(path).map((call) => ask(direct, { ...call, token: '' }, GROUP, () => !daemon.alive));
    const others = [path, `${path}/one`].map((at) => throughTheCluster(at, () => over));
    await meanwhile();
    const seen = await Promise.all(asking);
    await cluster.replicasReady(2);
    over = true;
    await Promise.all(others);
    for (const { answers } of seen) expect([...answers.keys()]).toContain(200);
    return refusals(seen);
  }

  /** The aggregator itself answers 503 if it reaches no replica. */
  async function throughTheCluster(at: string, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const answer = await once(cluster.http, { path: at });
      if (answer !== undefined && ![200, 429, 503].includes(answer.status))
        throw new Error(`the cluster says of ${at}: ${answer.status} ${answer.text}`);
      await pause(20);
    }
  }

  describe('restarts', () => {
    beforeAll(async () => {
      await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
      await cluster.kubectl.ok([
        'create',
        'clusterrolebinding',
        READER,
        '--clusterrole=cluster-admin',
        `--user=${READER}`,
      ]);
      expect((await cluster.http.post(path, widgetText('one', { colour: 'red' }))).status).toBe(201);
    });

    test(
      'no valid request is denied while a replica restarts',
      async () => {
        let refused = 0;
        for (let i = 0; i < RESTARTS; i++) refused += await restart(() => Promise.resolve());
        say(`${RESTARTS} restarts, ${refused} answers 503`);
        expect(refused).toBeGreaterThan(0);
      },
      (RESTARTS + 4) * 60_000,
    );

    test(
      'no valid request is denied if MongoDB goes away at any point of a restart',
      async () => {
        const { daemon } = cluster.replica(1);
        for (let i = 0; i < RESTARTS; i++) {
          await restart(async () => {
            await pause((START_MILLIS * (i + 0.5)) / RESTARTS);
            for (const member of cluster.mongodb.members) member.freeze();
            await pause(AWAY_MILLIS);
            for (const member of cluster.mongodb.members) member.thaw();
          });
          expect(daemon.alive).toBe(true);
        }
      },
      (RESTARTS + 4) * 60_000,
    );

    test(
      'a webhook of the cluster that points to Annex does not prevent its replicas from starting',
      async () => {
        const { kubectl, http } = cluster;
        const kinds = ['mutating', 'validating'];
        const anybody = ['--clusterrole=cluster-admin', '--group=system:unauthenticated'];
        await kubectl.ok(['create', 'clusterrolebinding', 'anybody', ...anybody]);
        const bundle = await kubectl.ok(['get', 'apiservice/v1.kubeannex.io', '-o', 'jsonpath={.spec.caBundle}']);
        for (const kind of kinds) await kubectl.ok(['create', '-f', '-'], { stdin: itself(kind, cluster, bundle) });
        const create = (name: string): ReturnType<Http1['post']> =>
          http.post(`${path}?dryRun=All`, widgetText(name, { colour: 'red' }));
        await eventually('the webhooks hold', async () => ((await create('held')).status === 500 ? true : undefined));
        const { daemon: first } = cluster.replica(0);
        const { daemon: second } = cluster.replica(1);
        await Promise.all([first.stop('SIGKILL'), second.stop('SIGKILL')]);
        first.start();
        second.start();
        await cluster.replicasReady(2);
        const refused = await eventually('Annex is reached', async () => {
          const answer = await create('refused');
          return answer.status === 503 ? undefined : answer;
        });
        expect([refused.status, refused.text]).toEqual([
          500,
          expect.stringContaining('failed calling webhook \\"itself.example.com\\"'),
        ]);
        expect((await http.get(path)).status).toBe(200);
        for (const kind of kinds) await kubectl.ok(['delete', `${kind}webhookconfiguration/itself`]);
        await kubectl.ok(['delete', 'clusterrolebinding/anybody']);
        await eventually('writes succeed', async () => ((await create('after')).status === 201 ? true : undefined));
      },
      4 * 60_000,
    );
  });
}

/** Returns a webhook configuration for everything that Annex serves, which points to the Service of Annex. */
function itself(kind: string, { servicePort: port }: TestCluster, caBundle: string): string {
  const service = { namespace: RELEASE_NAMESPACE, name: 'annex', port, path: widgetsPath(NAMESPACE) };
  return JSON.stringify({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind === 'mutating' ? 'Mutating' : 'Validating'}WebhookConfiguration`,
    metadata: { name: 'itself' },
    webhooks: [
      {
        name: 'itself.example.com',
        clientConfig: { service, caBundle },
        rules: [{ operations: ['*'], apiGroups: [GROUP, 'kubeannex.io'], apiVersions: ['*'], resources: ['*/*'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 2,
      },
    ],
  });
}
