import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCertificate, generateKey, keyPem } from '../../src/pki/certificates.js';
import { FaultProxy } from '../faults/proxy.js';
import { Http1 } from '../integration/client.js';
import { largeRole } from '../integration/objects.js';
import { NOBODY, ROOT, scratchFolder, TestServer } from '../integration/server.js';
import { findMongod, freePort, pause, ReplicaSet } from '../storage/mongod.js';
import { findPrometheus, hasty, Prometheus } from './prometheus.js';

/** `make alerts` injects all faults. Otherwise only those that take seconds are injected. */
const ALL = process.env['ANNEX_ALERTS'] === 'all';
const QUICK = new Set([
  'AnnexDown',
  'AnnexAuditLogFailing',
  'AnnexAdmissionWebhookFailing',
  'AnnexServingCertificateExpires',
]);
const HOUR = 3_600_000;

const found = findPrometheus();
const mongod = findMongod();
const rules = readFileSync(join(ROOT, 'charts/annex/files/alerts.yaml'), 'utf8');
const [suite, why] = 'path' in found ? [describe, ''] : [describe.skip, ` (skipped: ${found.missing})`];
const path = 'path' in found ? found.path : '';
const begun = performance.now();

const chosen = (alert: string): typeof test => (ALL || QUICK.has(alert) ? test : test.skip);

/** Logs progress when all faults are injected. */
function say(line: string): void {
  if (ALL) process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
}

/** A server on a fixed port that can be restarted with other flags. */
class Replica {
  private server: TestServer | undefined;
  private http: Http1 | undefined;

  constructor(
    private readonly folder: string,
    readonly port: number,
    private readonly flags: readonly string[] = [],
  ) {
    mkdirSync(folder, { recursive: true });
  }

  async start(more: readonly string[] = [], nodeOptions = ''): Promise<void> {
    const port = ['--secure-port', String(this.port)];
    this.server = await TestServer.start(this.folder, [...port, ...this.flags, ...more], { NODE_OPTIONS: nodeOptions });
    this.http = new Http1(this.server, 64, { trusting: true });
  }

  async restart(more: readonly string[] = [], nodeOptions = ''): Promise<void> {
    await this.stop();
    await this.start(more, nodeOptions);
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.server?.signal('SIGCONT');
    await this.server?.stop(signal);
  }

  signal(name: NodeJS.Signals): void {
    this.server?.signal(name);
  }

  get client(): Http1 {
    if (this.http === undefined) throw new Error('the server has not started');
    return this.http;
  }
}

const MAPS = '/api/v1/namespaces/default/configmaps';
const map = (name: string, data: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

/** Repeats an action, whatever its result, until it is ended. */
class Load {
  private going = true;
  private readonly ended: Promise<unknown>;

  constructor(work: (round: number) => Promise<unknown>, at = 1, millis = 20) {
    let round = 0;
    const worker = async (): Promise<void> => {
      while (this.going) {
        await work(round++).catch(() => undefined);
        await pause(millis);
      }
    };
    this.ended = Promise.all(Array.from({ length: at }, worker));
  }

  async end(): Promise<void> {
    this.going = false;
    await this.ended;
  }
}

const loads = new Set<Load>();
const load = (...args: ConstructorParameters<typeof Load>): Load => {
  const made = new Load(...args);
  loads.add(made);
  return made;
};
const endLoads = async (): Promise<void> => {
  await Promise.all([...loads].map((one) => one.end()));
  loads.clear();
};

suite(`alerts, from faults of a server${why}`, () => {
  let prometheus: Prometheus | undefined;
  let replica: Replica;
  const folder = scratchFolder(async () => {
    await endLoads();
    await prometheus?.stop();
    await replica.stop();
  });

  beforeAll(async () => {
    replica = new Replica(join(folder, 'a'), await freePort());
    await replica.start();
    prometheus = await Prometheus.start(path, join(folder, 'prometheus'), [replica], hasty(rules));
  }, 240_000);
  afterEach(endLoads);

  async function fires(alert: string, inject: () => Promise<unknown>, heal: () => Promise<unknown>): Promise<void> {
    if (prometheus === undefined) throw new Error('there is no Prometheus');
    say(`${alert}: injected`);
    await prometheus.until(alert, false);
    await inject();
    await prometheus.until(alert, true);
    say(`${alert}: fires`);
    await heal();
    await prometheus.until(alert, false);
    say(`${alert}: resolved`);
  }

  test('no alert fires while all is well', async () => {
    await prometheus?.scrapes(1);
    await prometheus?.until('AnnexDown', false);
    load((i) => replica.client.post(MAPS, map(`well-${i}`)));
    await pause(5_000);
    // These two may fire on a busy machine.
    const busy = ['AnnexEventLoopBlocked', 'AnnexLatencyBudgetBurn'];
    const firing = [...((await prometheus?.firing()) ?? [])];
    expect(firing.filter((alert) => !busy.includes(alert))).toEqual([]);
  });

  chosen('AnnexDown')('AnnexDown: the server is stopped', () =>
    fires(
      'AnnexDown',
      () => replica.stop(),
      () => replica.start(),
    ),
  );

  chosen('AnnexAuditLogFailing')('AnnexAuditLogFailing: its disk is full', () => {
    const policy = join(folder, 'policy.yaml');
    writeFileSync(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n');
    return fires(
      'AnnexAuditLogFailing',
      async () => {
        await replica.restart(['--audit-policy-file', policy, '--audit-log-path', '/dev/full']);
        load(() => replica.client.get(MAPS));
      },
      () => replica.restart(['--audit-policy-file', policy, '--audit-log-path', join(folder, 'audit.log')]),
    );
  });

  chosen('AnnexAdmissionWebhookFailing')('AnnexAdmissionWebhookFailing: the port is closed', async () => {
    const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    const url = `https://127.0.0.1:${await freePort()}/`;
    const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] };
    const webhook = {
      name: 'dead.example.com',
      clientConfig: { url },
      rules: [rule],
      failurePolicy: 'Ignore',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    };
    await fires(
      'AnnexAdmissionWebhookFailing',
      async () => {
        const body = {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingWebhookConfiguration',
          metadata: { name: 'dead' },
          webhooks: [webhook],
        };
        expect((await replica.client.post(configurations, body)).status).toBe(201);
        load((i) => replica.client.post(MAPS, map(`webhook-${i}`)));
      },
      () => replica.client.send({ method: 'DELETE', path: `${configurations}/dead` }),
    );
  });

  chosen('AnnexServingCertificateExpires')('AnnexServingCertificateExpires: it was not renewed', () => {
    const flags = (hours: number): string[] => {
      const { privateKey, publicKey } = generateKey();
      const validity = { notBefore: Date.now() - HOUR, notAfter: Date.now() + hours * HOUR };
      const subject = { commonName: 'annex' };
      const request = { subject, publicKey, usage: 'server' as const, altNames: ['127.0.0.1'], ...validity };
      const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
      writeFileSync(cert, createCertificate(request, { key: privateKey }));
      writeFileSync(key, keyPem(privateKey));
      return ['--tls-cert-file', cert, '--tls-private-key-file', key];
    };
    return fires(
      'AnnexServingCertificateExpires',
      () => replica.restart(flags(20)),
      () => replica.restart(flags(24 * 90)),
    );
  });

  chosen('AnnexEncryptionFailing')('AnnexEncryptionFailing: a key is missing', async () => {
    const flags = (...keys: string[]): string[] => {
      const file = join(folder, 'encryption.yaml');
      const providers = keys.map((key) => {
        const secret = Buffer.alloc(32, key).toString('base64');
        return { secretbox: { keys: [{ name: key, secret }] } };
      });
      const config = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration' };
      writeFileSync(file, JSON.stringify({ ...config, resources: [{ resources: ['secrets'], providers }] }));
      return ['--encryption-provider-config', file];
    };
    const secrets = '/api/v1/namespaces/default/secrets';
    await replica.restart(flags('old'));
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mine' } };
    expect((await replica.client.post(secrets, secret)).status).toBe(201);
    await fires(
      'AnnexEncryptionFailing',
      async () => {
        await replica.restart(flags('new'));
        load(() => replica.client.get(secrets));
      },
      () => replica.restart(flags('new', 'old')),
    );
    await replica.client.send({ method: 'DELETE', path: `${secrets}/mine` });
    await replica.restart();
  });

  chosen('AnnexRequestsRejected')('AnnexRequestsRejected: too many concurrent requests', async () => {
    const data = { text: 'x'.repeat(500_000) };
    // Requests of system:masters are never rejected.
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'flood' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    };
    let made = 0;
    const flood = (): Promise<unknown> =>
      replica.client.send({ method: 'POST', path: MAPS, body: map(`many-${made++}`, data), token: NOBODY });
    await fires(
      'AnnexRequestsRejected',
      async () => {
        await replica.restart(['--max-mutating-requests-inflight', '1']);
        await replica.client.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding);
        load(flood, 16, 1);
      },
      endLoads,
    );
    await replica.restart();
  });

  chosen('AnnexEventLoopBlocked')('AnnexEventLoopBlocked: the process gets no CPU', () => {
    let flips: Load | undefined;
    return fires(
      'AnnexEventLoopBlocked',
      () => {
        flips = load(
          async () => {
            replica.signal('SIGSTOP');
            await pause(400);
            replica.signal('SIGCONT');
          },
          1,
          100,
        );
        return Promise.resolve();
      },
      async () => flips?.end(),
    );
  });

  chosen('AnnexMemoryNearLimit')('AnnexMemoryNearLimit: roles fill a small heap', () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    return fires(
      'AnnexMemoryNearLimit',
      async () => {
        await replica.restart([], '--max-old-space-size=110 --max-semi-space-size=1');
        load((i) => replica.client.post(roles, largeRole(i)), 1, 30);
      },
      async () => {
        await endLoads();
        await replica.restart();
      },
    );
  });

  chosen('AnnexClientCertificateExpires')('AnnexClientCertificateExpires: a client uses one until it expires', () => {
    const { privateKey, publicKey } = generateKey();
    const ca = {
      pem: readFileSync(join(folder, 'a/data/pki/client-ca.crt'), 'utf8'),
      key: readFileSync(join(folder, 'a/data/pki/client-ca.key'), 'utf8'),
    };
    const request = {
      subject: { commonName: 'jane' },
      publicKey,
      usage: 'client' as const,
      notBefore: Date.now() - HOUR,
      notAfter: Date.now() + HOUR,
    };
    const issuer = { key: createPrivateKey(ca.key), certificate: new X509Certificate(ca.pem) };
    const who = { certificate: createCertificate(request, issuer), key: keyPem(privateKey), trusting: true };
    const http = new Http1({ url: `https://127.0.0.1:${replica.port}`, ca: '' }, 4, who);
    return fires(
      'AnnexClientCertificateExpires',
      () => Promise.resolve(load(() => http.send({ path: '/version', token: '' }))),
      endLoads,
    );
  });
});

const mongodbMissing = 'reason' in mongod ? mongod.reason : '';
(ALL && mongodbMissing === '' ? suite : describe.skip)(
  `alerts, from faults of MongoDB${mongodbMissing === '' ? '' : ` (skipped: ${mongodbMissing})`}`,
  () => {
    let prometheus: Prometheus | undefined;
    let set: ReplicaSet;
    let proxy: FaultProxy;
    const replicas: Replica[] = [];
    const folder = scratchFolder(async () => {
      await endLoads();
      await prometheus?.stop();
      await Promise.all(replicas.map((replica) => replica.stop()));
      await proxy.close();
      await set.dispose();
    });

    beforeAll(async () => {
      set = await ReplicaSet.start('path' in mongod ? mongod.path : '');
      proxy = await FaultProxy.start(set.members[0]?.port ?? 0);
      const store = ['--storage-backend=mongodb', '--mongodb-database=annex'];
      replicas.push(new Replica(join(folder, 'a'), await freePort(), [...store, `--mongodb-uri=${proxy.uri()}`]));
      replicas.push(new Replica(join(folder, 'b'), await freePort(), [...store, `--mongodb-uri=${set.uri}`]));
      for (const replica of replicas) await replica.start();
      prometheus = await Prometheus.start(path, join(folder, 'prometheus'), replicas, hasty(rules));
    }, 240_000);
    afterEach(async () => {
      set.members[0]?.thaw();
      proxy.pass();
      await endLoads();
    });

    /** Checks that all these alerts fire during the fault and resolve after it. */
    async function fire(alerts: readonly string[], inject: () => unknown, heal: () => unknown): Promise<void> {
      if (prometheus === undefined) throw new Error('there is no Prometheus');
      say(`${alerts.join(', ')}: injected`);
      // Like kubelets: a check has a result only after a request for it.
      for (const replica of replicas) load(() => replica.client.send({ path: '/readyz', token: '' }), 1, 500);
      await inject();
      for (const alert of alerts) {
        await prometheus.until(alert, true);
        say(`${alert}: fires`);
      }
      await heal();
      for (const alert of alerts) {
        await prometheus.until(alert, false);
        say(`${alert}: resolved`);
      }
    }
    const writes = (): Load =>
      load((i) => Promise.race([replicas[i % 2]?.client.post(MAPS, map(`m-${i}`)), pause(3_000)]), 4);

    test('MongoDB is away', () =>
      fire(
        ['AnnexStoreUnavailable', 'AnnexNotReady', 'AnnexErrorRate', 'AnnexStoreErrors', 'AnnexHistoryNotTrimmed'],
        () => {
          writes();
          set.members[0]?.freeze();
        },
        () => set.members[0]?.thaw(),
      ));

    test('writes take seconds', () =>
      fire(
        ['AnnexLatencyBudgetBurn'],
        () => {
          load((i) => replicas[0]?.client.post(MAPS, map(`slow-${i}-${Math.random()}`)) ?? Promise.resolve(), 16);
          proxy.delay(800, 'answers');
        },
        () => {
          proxy.pass();
        },
      ));

    test('connections break repeatedly', () => {
      let breaks: Load | undefined;
      return fire(
        ['AnnexChangeStreamBroken'],
        () => {
          writes();
          const reset = (): Promise<void> => {
            proxy.reset();
            return Promise.resolve();
          };
          breaks = load(reset, 1, 700);
        },
        async () => breaks?.end(),
      );
    });

    test('a collection rejects committed objects', () =>
      fire(
        ['AnnexProjectionBehind'],
        async () => {
          writes();
          // No object has this field.
          await set.command({ collMod: 'configmaps', validator: { nothing: { $exists: true } } }, 'annex');
        },
        () => set.command({ collMod: 'configmaps', validator: {} }, 'annex'),
      ));

    test('one replica receives no events', () =>
      fire(
        ['AnnexWatchCacheBehind'],
        () => {
          load((i) => replicas[1]?.client.post(MAPS, map(`b-${i}`)) ?? Promise.resolve());
          proxy.swallow('answers');
        },
        () => proxy.pass(),
      ));
  },
);

test('every alert is injected here, in the e2e tests, or listed as not injected', () => {
  const text = readFileSync(join(__dirname, 'injected.test.ts'), 'utf8');
  const all = new Set([...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? ''));
  const elsewhere = [
    'AnnexAPIServiceUnavailable',
    'AnnexClusterLinkBroken',
    'AnnexAdmissionConfigurationStale',
    'AnnexAdmissionParamsUnreadable',
    'AnnexAdoptionStuck',
    // Needs kube-state-metrics: its rule is tested in rules.test.yaml alone.
    'AnnexNoBackup',
  ];
  const injected = [...all].filter((name) => text.includes(`'${name}'`));
  expect(injected.filter((name) => !elsewhere.includes(name)).length + elsewhere.length).toBe(all.size);
});
