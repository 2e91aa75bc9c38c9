import { messageOf } from '../../util/error-message.js';
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createCertificate,
  generateKey,
  keyPem,
  type CertificateRequest,
  isIssuedBy,
  validityFrom,
} from '../../pki/certificates.js';
import type { Clock } from '../../util/clock.js';

const DAY = 86_400_000;
const YEAR = 365 * DAY;
const RENEW_BEFORE = 30 * DAY;

/** A startup error that the operator has to fix. Its message is all that the operator needs. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Reads a file. Throws StartError with the flag and the path if it cannot be read. */
export function readFile(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartError(`${what}: cannot read ${path}: ${messageOf(error)}`);
  }
}

/** Replaces the file atomically. Only its owner may read it. */
export function writePrivateFile(path: string, content: string): void {
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, content, { mode: 0o600 });
  renameSync(temporary, path);
}

/** Creates the directory and its parents. Node's recursive mkdir does not return if a parent cannot be created. */
function makeDirectory(path: string): void {
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) throw new Error('it is not a directory');
    return;
  }
  makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** Creates the --data-dir directory, and a folder in it, if they do not exist. Throws StartError if that fails. */
export function makeDataDirectory(path: string, folder = path): void {
  try {
    makeDirectory(folder);
  } catch (error) {
    throw new StartError(`--data-dir: cannot create ${path}: ${messageOf(error)}`);
  }
}

interface Signer {
  readonly key: KeyObject;
  readonly certificate: X509Certificate;
  readonly pem: string;
}

export interface Credentials {
  readonly caPem: string;
  readonly servingCert: string;
  readonly servingKey: string;
  readonly clientCaPem: string;
  /** Paths of these files in the data directory, for operators. */
  readonly caFile: string;
  readonly kubeconfigFile: string;
  readonly servingCertFile: string;
  readonly servingKeyFile: string;
  readonly clientCaFile: string;
  readonly clientCaKeyFile: string;
}

/** The certificates and keys in a data directory. They are created at the first start, then reused, and renewed 30 days before they expire. */
export class DataDirectory {
  private readonly pki: string;

  constructor(
    readonly path: string,
    private readonly clock: Clock,
  ) {
    this.pki = join(path, 'pki');
    makeDataDirectory(path, this.pki);
  }

  /** Creates or reuses the files. `serverUrl` is written to the kubeconfig. `names` are added to the default names of the serving certificate. */
  prepare(serverUrl: string, names: readonly string[]): Credentials {
    const ca = this.authority('ca', 'annex-ca');
    const clientCa = this.authority('client-ca', 'annex-client-ca');
    const altNames = [...new Set([...defaultNames(), ...names])];
    const servingCertFile = join(this.pki, 'apiserver.crt');
    const servingKeyFile = join(this.pki, 'apiserver.key');
    const serving = this.leaf('apiserver', ca, { commonName: 'kube-apiserver' }, 'server', altNames);
    const admin = this.leaf(
      'admin',
      clientCa,
      { commonName: 'kubernetes-admin', organizations: ['system:masters'] },
      'client',
      [],
    );
    const caFile = join(this.path, 'ca.crt');
    writePrivateFile(caFile, ca.pem);
    const kubeconfigFile = join(this.path, 'admin.kubeconfig');
    writePrivateFile(kubeconfigFile, kubeconfig(serverUrl, ca.pem, admin));
    return {
      caPem: ca.pem,
      clientCaPem: clientCa.pem,
      servingCert: serving.cert,
      servingKey: serving.key,
      caFile,
      kubeconfigFile,
      servingCertFile,
      servingKeyFile,
      clientCaFile: join(this.pki, 'client-ca.crt'),
      clientCaKeyFile: join(this.pki, 'client-ca.key'),
    };
  }

  private authority(file: string, commonName: string): Signer {
    const certFile = join(this.pki, `${file}.crt`);
    const keyFile = join(this.pki, `${file}.key`);
    if (existsSync(certFile) || existsSync(keyFile)) {
      const pem = readFile(certFile, '--data-dir');
      const { key, certificate } = parsePair(pem, readFile(keyFile, '--data-dir'), certFile, keyFile);
      if (this.fresh(certificate)) return { key, certificate, pem };
    }
    const { privateKey, publicKey } = generateKey();
    const request = {
      subject: { commonName },
      publicKey,
      usage: 'ca' as const,
      ...validityFrom(this.clock.now(), 10 * YEAR),
    };
    const pem = createCertificate(request, { key: privateKey });
    writePrivateFile(keyFile, keyPem(privateKey));
    writePrivateFile(certFile, pem);
    return { key: privateKey, certificate: new X509Certificate(pem), pem };
  }

  private leaf(
    file: string,
    ca: Signer,
    subject: CertificateRequest['subject'],
    usage: 'server' | 'client',
    altNames: readonly string[],
  ): { cert: string; key: string } {
    const certFile = join(this.pki, `${file}.crt`);
    const keyFile = join(this.pki, `${file}.key`);
    if (existsSync(certFile) && existsSync(keyFile)) {
      const cert = readFile(certFile, '--data-dir');
      const key = readFile(keyFile, '--data-dir');
      const { certificate } = parsePair(cert, key, certFile, keyFile);
      if (isIssuedBy(certificate, ca.certificate) && this.fresh(certificate) && coversNames(certificate, altNames))
        return { cert, key };
    }
    const { privateKey, publicKey } = generateKey();
    const request = { subject, publicKey, usage, altNames, ...validityFrom(this.clock.now(), YEAR) };
    const cert = createCertificate(request, { key: ca.key, certificate: ca.certificate });
    const key = keyPem(privateKey);
    writePrivateFile(keyFile, key);
    writePrivateFile(certFile, cert);
    return { cert, key };
  }

  private fresh(certificate: X509Certificate): boolean {
    return Date.parse(certificate.validTo) - this.clock.now() > RENEW_BEFORE;
  }
}

function coversNames(certificate: X509Certificate, names: readonly string[]): boolean {
  return names.every((name) => certificate.checkHost(name) !== undefined || certificate.checkIP(name) !== undefined);
}

/** Parses a certificate and its private key. Throws StartError if they do not match. */
export function parsePair(
  cert: string,
  key: string,
  certFile: string,
  keyFile: string,
): { certificate: X509Certificate; key: KeyObject } {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (error) {
    throw new StartError(`${certFile} contains no certificate: ${messageOf(error)}`);
  }
  let parsed: KeyObject;
  try {
    parsed = createPrivateKey(key);
  } catch (error) {
    throw new StartError(`${keyFile} contains no private key: ${messageOf(error)}`);
  }
  if (!certificate.checkPrivateKey(parsed)) throw new StartError(`${keyFile} is not the key of ${certFile}`);
  return { certificate, key: parsed };
}

function defaultNames(): string[] {
  const service = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ];
  const host = hostname();
  const usable = /^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$/.test(host);
  return ['localhost', '127.0.0.1', '::1', ...(usable ? [host.toLowerCase()] : []), ...service];
}

function kubeconfig(server: string, ca: string, admin: { cert: string; key: string }): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return `apiVersion: v1
kind: Config
current-context: annex
clusters:
- name: annex
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(ca)}
contexts:
- name: annex
  context:
    cluster: annex
    user: admin
users:
- name: admin
  user:
    client-certificate-data: ${base64(admin.cert)}
    client-key-data: ${base64(admin.key)}
`;
}
