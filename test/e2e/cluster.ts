import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kubectl } from '../conformance/kubectl.js';
import { type Address, Http1, treeOf, digList } from '../integration/client.js';
import { ADMIN, eventually, MAIN as BUILT, ROOT } from '../integration/server.js';
import { OtlpReceiver } from '../integration/tracing/otlp-receiver.js';
import { findMongod, freePort, ReplicaSet } from '../storage/mongod.js';
import { FaultProxy } from '../faults/proxy.js';
import { Certificates } from './certificates.js';
import { Daemon } from './daemon.js';
import { apiserver, controllerManager, etcd, kubeconfig, type Ports, TOKENS, writeAuditPolicy } from './processes.js';
import { LateEtcd } from './late-etcd.js';
import { isReady, ServicePort } from './service.js';

export const NAMESPACE = 'annex-system';
/** The token that the replicas send to webhooks that are Services. */
export const WEBHOOK_TOKEN = 'token-for-webhooks';
/** A group that Annex may adopt. */
export const ADOPTED_GROUP = 'adopted.example.com';
const MAIN = process.env['ANNEX_MAIN'] ?? BUILT;
const REPLICAS = 2;
export const TOOLS = process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools');
/** The version of the cluster's API server, for instance v1.37.2. */
export const CLUSTER_VERSION = /v1\.\d+\.\d+/.exec(
  // Null if the program is missing.
  String(spawnSync(join(TOOLS, 'kube-apiserver'), ['--version']).stdout),
)?.[0];
/** Annex has the behavior of this Kubernetes version. An older cluster behaves differently in places. */
export const IS_YARDSTICK = CLUSTER_VERSION?.startsWith('v1.37.') === true;
const CHART = join(ROOT, 'charts/annex');

interface TestClusterOptions {
  readonly apiservers?: 1 | 2;
  readonly groups?: readonly string[];
  readonly traced?: boolean;
  /** True if the replicas reach the cluster through proxies that can be cut. */
  readonly proxied?: boolean;
  /** True if the second kube-apiserver can be made to learn of changes late. */
  readonly late?: boolean;
}

export interface Replica {
  readonly daemon: Daemon;
  readonly port: number;
}

/**
 * A cluster of real components with Annex: etcd, kube-apiserver, kube-controller-manager, a MongoDB replica set of three members, and two
 * replicas of Annex with the service account and flags that the chart gives to its pods.
 */
export class TestCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'annex-e2e-'));
  private ports: Ports = { etcd: 0, etcdPeer: 0, apiserver: 0, manager: 0 };
  readonly certificates: Certificates;
  private readonly daemons: Daemon[] = [];
  readonly replicas: Replica[] = [];
  private readonly directly: Http1[] = [];
  private bundle = '';
  private set: ReplicaSet | undefined;
  private portOfService: ServicePort | undefined;
  private receiver: OtlpReceiver | undefined;
  servicePort = 0;
  /** The port of webhooks that are Services. */
  hookPort = 0;
  kubectl!: Kubectl;
  http!: Http1;
  /** One client for each kube-apiserver. */
  readonly https: Http1[] = [];
  readonly apiservers: string[] = [];
  /** The proxies between the replicas and each kube-apiserver, if the options ask for them. */
  readonly proxies: FaultProxy[] = [];
  /** Can be stopped with SIGKILL like the other components. */
  etcd!: Daemon;
  apiserver!: Daemon;
  second: Daemon | undefined;
  private lateEtcd: LateEtcd | undefined;
  manager!: Daemon;

  /**
   * `apiservers`: the number of kube-apiservers. `traced`: the cluster's API server and the replicas export traces that a caller asks for
   * to a collector. `groups`: the groups that Annex may adopt.
   */
  constructor(private readonly options: TestClusterOptions = {}) {
    mkdirSync(join(this.folder, 'pki'));
    this.certificates = new Certificates(join(this.folder, 'pki'));
  }

  /** Starts the components in order. Calls `step` before each step. */
  async start(step: (what: string) => void): Promise<void> {
    step('etcd, kube-apiserver, three mongods');
    if (this.options.traced === true) this.receiver = await OtlpReceiver.start();
    const mongods = this.startMongods();
    await this.startControlPlane();
    this.set = await mongods;
    step('helm install');
    await this.install();
    step('two replicas of Annex');
    await this.startReplicas();
    const service = 'apiservice/v1.kubeannex.io';
    // A replica is ready before its APIServices exist in the cluster, and kubectl cannot wait for a condition of a missing object.
    await this.kubectl.ok(['wait', service, '--for=create', '--timeout=60s']);
    await this.kubectl.ok(['wait', service, '--for=condition=Available', '--timeout=60s']);
    await this.trustAnew();
  }

  /** Trusts the CAs that are now in the APIService. */
  async trustAnew(): Promise<void> {
    const path = 'jsonpath={.spec.caBundle}';
    const bundle = await this.kubectl.ok(['get', 'apiservice/v1.kubeannex.io', '-o', path]);
    this.bundle = Buffer.from(bundle, 'base64').toString('utf8');
    this.directly.length = 0;
  }

  get address(): Address {
    return { url: `https://127.0.0.1:${this.ports.apiserver}`, ca: this.certificates.ca };
  }

  get mongodb(): ReplicaSet {
    if (this.set === undefined) throw new Error('there is no MongoDB');
    return this.set;
  }

  get collector(): OtlpReceiver {
    if (this.receiver === undefined) throw new Error('nothing is traced');
    return this.receiver;
  }

  /** The etcd of the second kube-apiserver, if the options ask for it. */
  get late(): LateEtcd {
    if (this.lateEtcd === undefined) throw new Error('no kube-apiserver is late');
    return this.lateEtcd;
  }

  get service(): ServicePort {
    if (this.portOfService === undefined) throw new Error('there is no service');
    return this.portOfService;
  }

  replica(index: number): Replica {
    const replica = this.replicas[index];
    if (replica === undefined) throw new Error(`there is no replica ${index}`);
    return replica;
  }

  file(name: string, content: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }

  /** A kubeconfig for the cluster's API server. */
  kubeconfig(name: string, token: string): string {
    return this.kubeconfigOf(name, { token });
  }

  /** The administrator's kubeconfig file. */
  get adminConfig(): string {
    return join(this.folder, 'admin.kubeconfig');
  }

  kubeconfigOf(name: string, user: object): string {
    return this.file(`${name}.kubeconfig`, kubeconfig(this.address.url, this.certificates.ca, user));
  }

  /** Returns a client of one replica, without the aggregator. It trusts the CAs in the APIService. */
  direct(index: number): Http1 {
    return this.directly[index] ?? (this.directly[index] = new Http1(this.addressOf(index)));
  }

  /** Runs helm against the cluster and returns its output. */
  helm(...args: string[]): Promise<string> {
    return run(join(TOOLS, 'helm'), args, { KUBECONFIG: this.adminConfig, HOME: this.folder });
  }

  /** Runs `helm upgrade --install` with the values that the tests need and additional settings. */
  release(command: 'install' | 'upgrade', ...settings: string[]): Promise<string> {
    const groups = this.options.groups ?? [ADOPTED_GROUP];
    const given = [`service.port=${this.servicePort}`, 'replicas=2', `adoption.groups={${groups.join()}}`];
    if (this.receiver !== undefined) given.push(`extraArgs={${this.tracing(this.receiver)}}`);
    const set = [...given, ...settings].flatMap((one) => ['--set', one]);
    const render = ['--post-renderer', join(__dirname, 'external-name.mjs')];
    return this.helm(command, 'annex', CHART, '--namespace', NAMESPACE, ...render, ...set);
  }

  /** Starts the processes that would run in pods. Their arguments are those of the Deployment, except for paths in the pod. */
  async startReplicas(): Promise<void> {
    const deployment = await this.kubectl.ok(['-n', NAMESPACE, 'get', 'deployment', 'annex', '-o', 'json']);
    const args = digList(treeOf({ text: deployment }), 'spec', 'template', 'spec', 'containers', 0, 'args').map(String);
    const token = await this.kubectl.ok(['-n', NAMESPACE, 'create', 'token', 'annex', '--duration=6h']);
    const reached = await this.reached();
    const config = this.file(
      'annex.kubeconfig',
      kubeconfig(`https://${reached[0] ?? ''}`, this.certificates.ca, { token: token.trim() }),
    );
    const uri = this.file('mongodb-uri', this.mongodb.uri);
    for (let i = this.replicas.length; i < REPLICAS; i++) {
      const port = await freePort();
      const places = {
        'bind-address': '127.0.0.1',
        'secure-port': String(port),
        'data-dir': join(this.folder, `annex-${i}`),
        'cache-dir': join(this.folder, `annex-${i}-cache`),
        'mongodb-uri-file': uri,
        kubeconfig: config,
        'cluster-api-servers': reached.join(),
        'admission-control-config-file': this.admissionConfig(),
      };
      const program = {
        name: `annex-${i}`,
        path: process.execPath,
        args: [MAIN, ...replaced(args, places)],
        env: { NODE_OPTIONS: `--require=${join(__dirname, 'cluster-dns.cjs')}` },
      };
      this.replicas.push({ daemon: this.daemon(program), port });
    }
    for (const { daemon } of this.replicas) daemon.start();
    this.portOfService ??= await ServicePort.listen(
      this.servicePort,
      this.replicas.map(({ port }) => port),
    );
    await this.replicasReady(REPLICAS);
  }

  /**
   * Starts one more process on the same store, which is not behind the Service. It has the flags of a replica, replaced by the given ones;
   * undefined removes a flag. `through` is a program that starts the process.
   */
  async beside(
    name: string,
    flags: Readonly<Record<string, string | undefined>>,
    through: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Replica> {
    const port = Number(flags['secure-port'] ?? (await freePort()));
    const folders = { 'data-dir': join(this.folder, name), 'cache-dir': join(this.folder, `${name}-cache`) };
    const places = { 'secure-port': String(port), ...folders, ...flags };
    const [main = '', ...args] = this.replica(0).daemon.args;
    const [path = '', ...rest] = [...through, process.execPath, main, ...replaced(args, places)];
    const daemon = this.daemon({ name, path, args: rest, env });
    daemon.start();
    await eventually(`${name} is ready`, () => {
      if (!daemon.alive) throw new Error(daemon.log);
      return isReady(port).then((ready) => ready || undefined);
    });
    return { daemon, port };
  }

  async replicasReady(count: number): Promise<void> {
    await eventually(`${count} replicas are ready`, async () => {
      for (const { daemon } of this.replicas) {
        if (!daemon.alive && daemon.exitCode !== null && daemon.exitCode !== 0) throw new Error(daemon.log);
      }
      await this.service.probe();
      return this.service.ready === count ? true : undefined;
    });
  }

  /** The process IDs that `annexbench` counts as the control plane. */
  get controlPlanePids(): string {
    return this.daemons
      .filter(({ name }) => name === 'etcd' || name === 'kube-apiserver')
      .map(({ name, pid }) => `cluster-${name}=${pid}`)
      .join(',');
  }

  /** Stops everything and removes the files. */
  async stop(): Promise<void> {
    this.portOfService?.close();
    await Promise.all(this.daemons.map((daemon) => daemon.stop('SIGKILL')));
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
    this.lateEtcd?.close();
    await this.set?.dispose();
    this.receiver?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The ends of all logs, to diagnose failures. */
  logs(): string {
    return this.daemons.map((daemon) => `== ${daemon.name}\n${daemon.log.slice(-3000)}`).join('\n');
  }

  /** Waits until the cluster's API server answers. */
  async apiserverReady(): Promise<void> {
    await isAnswering(this.http);
  }

  /** Returns the tracing flag of both servers, in the config version that every tested Kubernetes version reads. */
  private tracing({ endpoint }: OtlpReceiver): string {
    const apiVersion = 'apiserver.config.k8s.io/v1beta1';
    const path = this.file('tracing.json', JSON.stringify({ apiVersion, kind: 'TracingConfiguration', endpoint }));
    return `--tracing-config-file=${path}`;
  }

  /** Writes the configuration with the credentials for webhooks that are Services. */
  private admissionConfig(): string {
    const users = [{ name: `*.svc:${this.hookPort}`, user: { token: WEBHOOK_TOKEN } }];
    const kubeConfigFile = this.file('webhook-users', JSON.stringify({ apiVersion: 'v1', kind: 'Config', users }));
    const apiVersion = 'apiserver.config.k8s.io/v1';
    const configuration = { apiVersion, kind: 'WebhookAdmissionConfiguration', kubeConfigFile };
    const plugins = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'].map((name) => ({ name, configuration }));
    return this.file('admission.json', JSON.stringify({ apiVersion, kind: 'AdmissionConfiguration', plugins }));
  }

  /** Returns the addresses at which the replicas reach the kube-apiservers. */
  private async reached(): Promise<readonly string[]> {
    if (this.options.proxied !== true) return this.apiservers;
    for (const address of this.apiservers.slice(this.proxies.length))
      this.proxies.push(await FaultProxy.start(Number(address.split(':')[1])));
    return this.proxies.map(({ port }) => `127.0.0.1:${port}`);
  }

  private addressOf(index: number): Address {
    return { url: `https://127.0.0.1:${this.replica(index).port}`, ca: this.bundle };
  }

  private daemon(program: ConstructorParameters<typeof Daemon>[0]): Daemon {
    const daemon = new Daemon(program, this.folder);
    this.daemons.push(daemon);
    return daemon;
  }

  private startMongods(): Promise<ReplicaSet> {
    const found = findMongod();
    if ('reason' in found) throw new Error(found.reason);
    return ReplicaSet.start(found.path, 3);
  }

  private async startControlPlane(): Promise<void> {
    const [a, b, c, d, e] = await Promise.all([freePort(), freePort(), freePort(), freePort(), freePort()]);
    this.hookPort = await freePort();
    this.ports = { etcd: a, etcdPeer: b, apiserver: c, manager: d };
    this.servicePort = e;
    writeFileSync(this.certificates.file('tokens.csv'), TOKENS);
    writeAuditPolicy(this.certificates);
    this.etcd = this.daemon(etcd(join(TOOLS, 'etcd'), this.folder, this.ports));
    this.etcd.start();
    const program = apiserver(join(TOOLS, 'kube-apiserver'), this.certificates, this.ports);
    const traces = this.receiver === undefined ? [] : [this.tracing(this.receiver)];
    this.apiserver = this.daemon({ ...program, args: [...program.args, ...traces] });
    this.apiserver.start();
    this.http = new Http1(this.address);
    this.https.push(this.http);
    this.apiservers.push(`127.0.0.1:${c}`);
    await this.apiserverReady();
    if (this.options.apiservers === 2) await this.startSecond();
    const admin = this.kubeconfig('admin', ADMIN);
    this.kubectl = new Kubectl(join(TOOLS, 'kubectl'), admin, this.folder);
    const path = join(TOOLS, 'kube-controller-manager');
    this.manager = this.daemon(controllerManager(path, this.certificates, admin, this.ports));
    this.manager.start();
  }

  private async startSecond(): Promise<void> {
    if (this.options.late === true) this.lateEtcd = await LateEtcd.start(this.ports.etcd);
    const etcdPort = this.lateEtcd?.port ?? this.ports.etcd;
    const ports = { ...this.ports, etcd: etcdPort, apiserver: await freePort() };
    const program = apiserver(join(TOOLS, 'kube-apiserver'), this.certificates, ports);
    this.second = this.daemon({ ...program, name: 'kube-apiserver-2' });
    this.second.start();
    this.apiservers.push(`127.0.0.1:${ports.apiserver}`);
    const http = new Http1({ url: `https://127.0.0.1:${ports.apiserver}`, ca: this.certificates.ca });
    this.https.push(http);
    await isAnswering(http);
  }

  private async install(): Promise<void> {
    await this.kubectl.ok(['create', 'namespace', NAMESPACE]);
    const standard = 'pod-security.kubernetes.io/enforce=restricted';
    await this.kubectl.ok(['label', 'namespace', NAMESPACE, standard]);
    // The pods of the Deployment would read this Secret, but they do not run here.
    const uri = `--from-literal=uri=${this.mongodb.uri}`;
    await this.kubectl.ok(['-n', NAMESPACE, 'create', 'secret', 'generic', 'annex-mongodb', uri]);
    await this.release('install');
  }
}

const isAnswering = (http: Http1): Promise<unknown> =>
  eventually('kube-apiserver is ready', async () => {
    const answer = await http.get('/readyz').catch(() => undefined);
    return answer?.status === 200 ? true : undefined;
  });

/** Returns the arguments of `annex serve` with the values of some flags replaced, or the flags removed. */
export function replaced(args: readonly string[], values: Readonly<Record<string, string | undefined>>): string[] {
  const kept = args.filter((arg) => !Object.keys(values).some((name) => arg.startsWith(`--${name}=`)));
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return [...kept, ...given.map(([name, value]) => `--${name}=${value}`)];
}

/** Returns the output of a program that must succeed. */
export async function run(
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, out } = await outcomeOf(path, args, env);
  if (code !== 0) throw new Error(`${path} ${args.join(' ')}: exit ${String(code)}\n${out}`);
  return out;
}

interface Outcome {
  readonly code: number | null;
  readonly out: string;
}

/** Returns the exit code and output of a program. */
export function outcomeOf(
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const child = spawn(path, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (out += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, out });
    });
  });
}
