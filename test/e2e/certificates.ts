import { createPublicKey, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCertificate, generateKey, type Issuer, keyPem } from '../../src/pki/certificates.js';

const HOUR = 3_600_000;

export interface Authority {
  readonly pem: string;
  readonly issuer: Issuer;
}

export function authority(commonName: string): Authority {
  const { privateKey, publicKey } = generateKey();
  const request = { subject: { commonName }, publicKey, usage: 'ca' as const, ...validity() };
  const pem = createCertificate(request, { key: privateKey });
  return { pem, issuer: { key: privateKey, certificate: new X509Certificate(pem) } };
}

const validity = (lasts = 24 * HOUR): { notBefore: number; notAfter: number } => ({
  notBefore: Date.now() - HOUR,
  notAfter: Date.now() + lasts,
});

/** Issues a client certificate of any CA. */
export function clientOf(by: Authority, commonName: string, lasts?: number): Pair {
  const { privateKey, publicKey } = generateKey();
  const request = { subject: { commonName }, publicKey, usage: 'client' as const, ...validity(lasts) };
  return { cert: createCertificate(request, by.issuer), key: keyPem(privateKey) };
}

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** The certificates and keys of a control plane, as files in a folder: `ca`, `apiserver`, `front-proxy-ca`, `front-proxy`, `sa`. */
export class Certificates {
  private readonly cluster = authority('cluster-ca');
  private readonly proxies = authority('front-proxy-ca');

  constructor(readonly folder: string) {
    this.write('ca.crt', this.cluster.pem);
    this.write('front-proxy-ca.crt', this.proxies.pem);
    const names = ['localhost', 'kubernetes.default.svc', '127.0.0.1', '10.0.0.1'];
    this.writePair('apiserver', this.issue(this.cluster, 'kube-apiserver', [], 'server', names));
    this.writePair('front-proxy', this.issue(this.proxies, 'front-proxy-client', [], 'client'));
    const { privateKey } = generateKey();
    this.write('sa.key', keyPem(privateKey));
    this.write('sa.pub', createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString());
  }

  get ca(): string {
    return this.cluster.pem;
  }

  /** Issues a client certificate of the cluster's CA. */
  client(commonName: string, organizations: readonly string[] = []): Pair {
    return this.issue(this.cluster, commonName, organizations, 'client');
  }

  /** Issues a client certificate of the front proxy's CA, under any name. */
  proxy(commonName: string, lasts?: number): Pair {
    return clientOf(this.proxies, commonName, lasts);
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  private issue(
    by: Authority,
    commonName: string,
    organizations: readonly string[],
    usage: 'server' | 'client',
    altNames: readonly string[] = [],
  ): Pair {
    const { privateKey, publicKey } = generateKey();
    const request = { subject: { commonName, organizations }, publicKey, usage, altNames, ...validity() };
    return { cert: createCertificate(request, by.issuer), key: keyPem(privateKey) };
  }

  private writePair(name: string, { cert, key }: Pair): void {
    this.write(`${name}.crt`, cert);
    this.write(`${name}.key`, key);
  }

  private write(name: string, content: string): void {
    writeFileSync(this.file(name), content, { mode: 0o600 });
  }
}
