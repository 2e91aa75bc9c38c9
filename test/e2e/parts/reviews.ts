import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { dig, digText, treeOf } from '../../integration/client.js';
import { eventually, NOBODY } from '../../integration/server.js';
import { pause } from '../../storage/mongod.js';
import type { Pair } from '../certificates.js';
import { NAMESPACE, type TestCluster } from '../cluster.js';
import { directly, type Seen } from '../directly.js';
import { AUDIT_LOG } from '../processes.js';
import { GROUP } from '../widgets.js';

const PATH = `/apis/${GROUP}/v1/namespaces/access/widgets`;
const KEPT_MILLIS = 10_000;
const AT_ONCE = 20;

/** Starts a program in a mount namespace in which the folder is the pod's service account directory. */
const AS_POD = [
  'unshare',
  '--mount',
  '--map-root-user',
  'sh',
  '-c',
  `run=$(readlink -f /var/run) && mount -t tmpfs none "$run" && mkdir -p "$run/secrets/kubernetes.io/serviceaccount" &&
   mount --bind "$1" "$run/secrets/kubernetes.io/serviceaccount" && shift && exec "$@"`,
  'pod',
];
const noPods =
  spawnSync('unshare', ['--mount', '--map-root-user', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status !== 0;

/** Annex sends reviews to the cluster: their content, number, and sender. */
export function reviews(cluster: TestCluster): void {
  /** Returns the reviews the cluster has answered, from its audit log. */
  const sent = (resource: string): JsonObject[] =>
    readFileSync(cluster.certificates.file(AUDIT_LOG), 'utf8')
      .split('\n')
      // The last line may be incomplete.
      .slice(0, -1)
      .map((text) => treeOf({ text }))
      .filter((event) => digText(event, 'objectRef', 'resource') === resource);
  const about = (user: string): JsonObject[] =>
    sent('subjectaccessreviews').filter((event) => digText(event, 'requestObject', 'spec', 'user') === user);
  const asker = (event: JsonObject | undefined): string => digText(event, 'user', 'username');
  const proxy = cluster.certificates.proxy('front-proxy-client');
  const ask = (headers: Readonly<Record<string, string>>, pair?: Pair, port = cluster.replica(0).port): Promise<Seen> =>
    directly({ port, path: PATH, headers, pair });
  const frank = { 'X-Remote-User': 'frank' };
  let begun = 0;
  let asked = 0;

  describe('reviews', () => {
    test('concurrent equal reviews are sent once', async () => {
      begun = performance.now();
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(frank, proxy)));
      asked = performance.now();
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
      expect(about('frank')).toHaveLength(1);
      const before = sent('tokenreviews').length;
      const tokens = await Promise.all(
        Array.from({ length: AT_ONCE }, () => ask({ authorization: 'Bearer nobody-has-it' })),
      );
      expect(new Set(tokens.map(({ status }) => status))).toEqual(new Set([401]));
      expect(sent('tokenreviews')).toHaveLength(before + 1);
    });

    test('an access review includes the selectors', async () => {
      const query = `fieldSelector=${encodeURIComponent('spec.colour=red')}&labelSelector=${encodeURIComponent('size in (a,b),!old')}`;
      const headers = { 'impersonate-user': 'erin', 'impersonate-group': 'watchers' };
      const answer = await cluster.http.get(`${PATH}?${query}`, headers);
      expect(answer.status).toBe(200);
      const [review, ...more] = about('erin');
      expect(more).toEqual([]);
      expect(dig(review, 'requestObject', 'spec')).toEqual({
        user: 'erin',
        groups: ['watchers', 'system:authenticated'],
        resourceAttributes: {
          namespace: 'access',
          verb: 'list',
          group: GROUP,
          version: 'v1',
          resource: 'widgets',
          fieldSelector: { requirements: [{ key: 'spec.colour', operator: 'In', values: ['red'] }] },
          labelSelector: {
            requirements: [
              { key: 'old', operator: 'DoesNotExist' },
              { key: 'size', operator: 'In', values: ['a', 'b'] },
            ],
          },
        },
      });
    });

    (noPods ? test.skip : test)(
      `the service account of a pod, and identities of their own for reviews${noPods ? ' (skipped: no mounts of its own are possible here)' : ''}`,
      async () => {
        const { kubectl, certificates } = cluster;
        const grant = (...args: string[]): Promise<string> => kubectl.ok(['create', ...args]);
        await grant('clusterrole', 'e2e-tokens', '--verb=create', '--resource=tokenreviews.authentication.k8s.io');
        await grant('clusterrolebinding', 'e2e-tokens', '--clusterrole=e2e-tokens', '--user=annex-authn');
        const reader = 'extension-apiserver-authentication-reader';
        await grant('rolebinding', 'e2e-reader', '-n', 'kube-system', `--role=${reader}`, '--user=annex-authn');
        await grant(
          'clusterrole',
          'e2e-access',
          '--verb=create',
          '--resource=subjectaccessreviews.authorization.k8s.io',
        );
        await grant('clusterrolebinding', 'e2e-access', '--clusterrole=e2e-access', '--user=annex-authz');
        const config = (user: string): string => {
          const { cert, key } = certificates.client(user);
          const [certificate, secret] = [cert, key].map((text) => Buffer.from(text).toString('base64'));
          return cluster.kubeconfigOf(user, { 'client-certificate-data': certificate, 'client-key-data': secret });
        };
        const account = join(cluster.folder, 'serviceaccount');
        mkdirSync(account);
        const token = await kubectl.ok(['-n', NAMESPACE, 'create', 'token', 'annex', '--duration=1h']);
        writeFileSync(join(account, 'token'), token.trim());
        writeFileSync(join(account, 'ca.crt'), certificates.ca);
        const { hostname, port } = new URL(cluster.address.url);
        const pod = await cluster.beside(
          'annex-pod',
          {
            kubeconfig: undefined,
            'authentication-kubeconfig': config('annex-authn'),
            'authorization-kubeconfig': config('annex-authz'),
          },
          [...AS_POD, account],
          { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
        );
        try {
          const seen = await ask({ authorization: `Bearer ${NOBODY}` }, undefined, pod.port);
          expect(seen.status).toBe(403);
          expect(seen.message).toContain('User "jane" cannot list resource "widgets"');
          expect(asker(sent('tokenreviews').at(-1))).toBe('annex-authn');
          expect(asker(about('jane').at(-1))).toBe('annex-authz');
          // The pod's service account has permissions that the others lack: for APIServices, namespaces, and quotas.
          await eventually('every link is in order', () =>
            Promise.resolve(pod.daemon.log.includes('run annex doctor') ? undefined : true),
          );
        } finally {
          await pod.daemon.stop('SIGTERM');
        }
        expect(pod.daemon.exitCode).toBe(0);
      },
    );

    test('answers are cached for ten seconds', async () => {
      const isKept = (): boolean => performance.now() - begun < KEPT_MILLIS;
      // Later than that, the answer is no longer cached.
      if (isKept()) {
        await ask(frank, proxy);
        if (isKept()) expect(about('frank')).toHaveLength(1);
      }
      await pause(Math.max(0, asked + KEPT_MILLIS + 100 - performance.now()));
      const before = about('frank').length;
      begun = performance.now();
      await ask(frank, proxy);
      // The previous request may have been sent late.
      expect(about('frank').length - before).toBeLessThanOrEqual(1);
      expect(about('frank').length).toBeGreaterThan(1);
      const after = about('frank').length;
      await ask(frank, proxy);
      if (isKept()) expect(about('frank')).toHaveLength(after);
    });
  });
}
