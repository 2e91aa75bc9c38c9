import { messageOf } from '../../util/error-message.js';
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
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
import type { KeyName } from './keys/rules.js';

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
function writePrivateFile(path: string, content: string): void {
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

/** A private key in PEM, and for a CA its certificate; '' for the key of service account tokens, which has none. */
export interface KeyPem {
  readonly key: string;
  readonly cert: string;
}

/** What a server presents to its clients, and the administrator's credentials. */
export interface Leaves {
  /** Undefined if --tls-cert-file has the certificate. */
  readonly serving: KeyPem | undefined;
  readonly admin: KeyPem;
}

/** The files of each key, without their extension, and the name of the CA. */
const FILES: Readonly<Record<KeyName, { readonly file: string; readonly commonName: string }>> = {
  'serving-ca': { file: 'ca', commonName: 'annex-ca' },
  'client-ca': { file: 'client-ca', commonName: 'annex-client-ca' },
  'service-account': { file: 'sa', commonName: '' },
};

const RSA_BITS = 2048;

/** The certificates and keys in a data directory. They are created when they are needed, then reused, and renewed 30 days before they expire. */
export class DataDirectory {
  private readonly pki: string;

  constructor(
    readonly path: string,
    private readonly clock: Clock,
  ) {
    this.pki = join(path, 'pki');
    makeDataDirectory(path, this.pki);
  }

  /** Returns the keys of that name, the current one first. A CA that expires soon is replaced; the former one stays. Empty if there is none. */
  keysOf(name: KeyName): KeyPem[] {
    const { file } = FILES[name];
    const old = existsSync(this.at(`${file}.old.crt`)) ? [this.readPair(`${file}.old`)] : [];
    if (!existsSync(this.at(`${file}.key`)) && !existsSync(this.at(`${file}.crt`))) return [];
    const current = this.current(name, old[0]?.cert);
    if (name === 'service-account' || this.fresh(new X509Certificate(current.cert))) return [current, ...old];
    this.write(`${file}.old`, current);
    return [this.create(name), current];
  }

  /** Creates a key in the directory. */
  create(name: KeyName): KeyPem {
    const made = newKey(name, this.clock.now());
    this.write(FILES[name].file, made);
    return made;
  }

  /** Issues the certificates that are missing, expire soon, have another CA, or lack one of the names. */
  issue(servingCa: KeyPem | undefined, clientCa: KeyPem, names: readonly string[]): Leaves {
    const altNames = [...new Set([...defaultNames(), ...names])];
    const admin = { commonName: 'kubernetes-admin', organizations: ['system:masters'] };
    return {
      serving: servingCa && this.leaf('apiserver', servingCa, { commonName: 'kube-apiserver' }, 'server', altNames),
      admin: this.leaf('admin', clientCa, admin, 'client', []),
    };
  }

  /** Writes what clients need: the CA that verifies the server, and the administrator's kubeconfig. Returns the latter's path. */
  publish(serverUrl: string, rootCa: string, admin: KeyPem): string {
    writePrivateFile(join(this.path, 'ca.crt'), rootCa);
    const path = join(this.path, 'admin.kubeconfig');
    writePrivateFile(path, kubeconfig(serverUrl, rootCa, admin));
    return path;
  }

  /** Returns the serving certificate of the last start, if there is one. */
  lastServing(): KeyPem | undefined {
    return existsSync(this.at('apiserver.crt')) && existsSync(this.at('apiserver.key'))
      ? this.readPair('apiserver')
      : undefined;
  }

  private current(name: KeyName, oldCert: string | undefined): KeyPem {
    const { file } = FILES[name];
    if (name === 'service-account') return { key: readFile(this.at('sa.key'), '--data-dir'), cert: '' };
    const isUnfinished = !existsSync(this.at(`${file}.crt`)) || this.read(`${file}.crt`) === oldCert;
    if (!isUnfinished) return this.readPair(file);
    // The server stopped between the key and its certificate.
    const key = this.read(`${file}.key`);
    const made = { key, cert: selfSigned(name, createPrivateKey(key), this.clock.now()) };
    this.write(file, made);
    return made;
  }

  private leaf(
    file: string,
    ca: KeyPem,
    subject: CertificateRequest['subject'],
    usage: 'server' | 'client',
    altNames: readonly string[],
  ): KeyPem {
    const authority = new X509Certificate(ca.cert);
    if (existsSync(this.at(`${file}.crt`)) && existsSync(this.at(`${file}.key`))) {
      const pair = this.readPair(file);
      const certificate = new X509Certificate(pair.cert);
      if (isIssuedBy(certificate, authority) && this.fresh(certificate) && coversNames(certificate, altNames))
        return pair;
    }
    const { privateKey, publicKey } = generateKey();
    const request = { subject, publicKey, usage, altNames, ...validityFrom(this.clock.now(), YEAR) };
    const cert = createCertificate(request, { key: createPrivateKey(ca.key), certificate: authority });
    const made = { cert, key: keyPem(privateKey) };
    this.write(file, made);
    return made;
  }

  private at(file: string): string {
    return join(this.pki, file);
  }

  private read(file: string): string {
    return readFile(this.at(file), '--data-dir');
  }

  private readPair(file: string): KeyPem {
    const pair = { cert: this.read(`${file}.crt`), key: this.read(`${file}.key`) };
    parsePair(pair.cert, pair.key, this.at(`${file}.crt`), this.at(`${file}.key`));
    return pair;
  }

  private write(file: string, { key, cert }: KeyPem): void {
    writePrivateFile(this.at(`${file}.key`), key);
    if (cert !== '') writePrivateFile(this.at(`${file}.crt`), cert);
  }

  private fresh(certificate: X509Certificate): boolean {
    return isFresh(certificate, this.clock.now());
  }
}

/** Reports whether a certificate is valid for another 30 days. */
export const isFresh = (certificate: X509Certificate, now: number): boolean =>
  Date.parse(certificate.validTo) - now > RENEW_BEFORE;

/** Makes a key that servers share; for a CA with its certificate. */
export function newKey(name: KeyName, now: number): KeyPem {
  if (name === 'service-account') {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: RSA_BITS });
    return { key: keyPem(privateKey), cert: '' };
  }
  const { privateKey } = generateKey();
  return { key: keyPem(privateKey), cert: selfSigned(name, privateKey, now) };
}

function selfSigned(name: KeyName, key: KeyObject, now: number): string {
  const subject = { commonName: FILES[name].commonName };
  const request = { subject, publicKey: createPublicKey(key), usage: 'ca' as const, ...validityFrom(now, 10 * YEAR) };
  return createCertificate(request, { key });
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
