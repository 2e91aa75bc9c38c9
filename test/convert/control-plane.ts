import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createCertificate, generateKey, keyPem } from '../../src/pki/certificates.js';

/** Returns loopback ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

const PATIENCE_MS = 240_000;

/** A kube-apiserver with its etcd, on loopback, with the keys and tokens of a folder. */
export class Started {
  private constructor(
    readonly port: number,
    private readonly programs: readonly ChildProcess[],
    private readonly folder: string,
  ) {}

  static async begin(tools: string, folder: string, [client = 0, peer = 0, port = 0]: number[]): Promise<Started> {
    const file = (name: string): string => join(folder, name);
    const begin = (name: string, args: readonly string[]): ChildProcess => {
      const child = spawn(join(tools, name), args, { stdio: ['ignore', 'pipe', 'pipe'] });
      const log = createWriteStream(file(`${name}.log`));
      child.stdout.pipe(log, { end: false });
      child.stderr.pipe(log, { end: false });
      return child;
    };
    const etcd = begin('etcd', [
      `--data-dir=${file('etcd')}`,
      `--listen-client-urls=http://127.0.0.1:${String(client)}`,
      `--advertise-client-urls=http://127.0.0.1:${String(client)}`,
      `--listen-peer-urls=http://127.0.0.1:${String(peer)}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${String(peer)}`,
      `--initial-cluster=default=http://127.0.0.1:${String(peer)}`,
      '--unsafe-no-fsync',
    ]);
    const apiserver = begin('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${String(client)}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${String(port)}`,
      `--tls-cert-file=${file('server.crt')}`,
      `--tls-private-key-file=${file('server.key')}`,
      `--service-account-key-file=${file('server.crt')}`,
      `--service-account-signing-key-file=${file('server.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      '--service-cluster-ip-range=10.0.0.0/24',
      `--token-auth-file=${file('tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--disable-admission-plugins=ServiceAccount',
    ]);
    const started = new Started(port, [apiserver, etcd], folder);
    try {
      await started.ready();
    } catch (error) {
      await started.stop();
      throw error;
    }
    return started;
  }

  private async ready(): Promise<void> {
    const until = Date.now() + PATIENCE_MS;
    while (!(await this.isReady())) {
      if (Date.now() > until || this.programs.some(({ exitCode }) => exitCode !== null))
        throw new Error(readFileSync(join(this.folder, 'kube-apiserver.log'), 'utf8').slice(-4000));
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  private isReady(): Promise<boolean> {
    const ca = readFileSync(join(this.folder, 'server.crt'));
    const headers = { authorization: 'Bearer convert' };
    return new Promise((resolve) => {
      get({ host: '127.0.0.1', port: this.port, path: '/readyz', ca, headers }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      }).on('error', () => {
        resolve(false);
      });
    });
  }

  /** Writes a kubeconfig of the administrator into the folder. Returns its path. */
  writeKubeconfig(): string {
    const path = join(this.folder, 'kubeconfig');
    const cluster = {
      server: `https://127.0.0.1:${String(this.port)}`,
      'certificate-authority': join(this.folder, 'server.crt'),
    };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'convert' } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  }

  async stop(): Promise<void> {
    for (const program of this.programs) {
      if (program.exitCode !== null || program.signalCode !== null) continue;
      const gone = once(program, 'exit');
      program.kill('SIGTERM');
      await gone;
    }
  }
}

export function writeKeys(folder: string): void {
  const { privateKey, publicKey } = generateKey();
  const validity = { notBefore: Date.now() - 1e6, notAfter: Date.now() + 1e8 };
  const subject = { commonName: 'convert' };
  const own = { subject, publicKey, usage: 'server' as const, altNames: ['127.0.0.1'], ...validity };
  writeFileSync(join(folder, 'server.crt'), createCertificate(own, { key: privateKey }));
  writeFileSync(join(folder, 'server.key'), keyPem(privateKey));
  writeFileSync(join(folder, 'tokens.csv'), 'convert,convert,convert,system:masters\n');
}
