import { X509Certificate } from 'node:crypto';
import { createCertificate, generateKey, keyPem } from '../../../src/pki/certificates.js';

const HOUR = 3_600_000;

export interface ServingPair {
  readonly key: string;
  readonly certificate: string;
}

/** A CA for the servers of one test. */
export class TestCa {
  private readonly pair = generateKey();
  readonly pem: string;

  constructor(commonName = 'test-ca') {
    const { privateKey, publicKey } = this.pair;
    const [notBefore, notAfter] = this.validity();
    this.pem = createCertificate(
      { subject: { commonName }, publicKey, usage: 'ca', notBefore, notAfter },
      { key: privateKey },
    );
  }

  /** Issues a serving certificate for loopback, or for these names. */
  serving(names: readonly string[] = ['127.0.0.1']): ServingPair {
    return this.issue({ commonName: 'server' }, 'server', this.validity(), names);
  }

  client(commonName: string, organizations: readonly string[], validity = this.validity()): ServingPair {
    return this.issue({ commonName, organizations }, 'client', validity);
  }

  private issue(
    subject: { readonly commonName: string; readonly organizations?: readonly string[] },
    usage: 'server' | 'client',
    [notBefore, notAfter]: readonly [number, number],
    altNames: readonly string[] = [],
  ): ServingPair {
    const { privateKey, publicKey } = generateKey();
    const issuer = { key: this.pair.privateKey, certificate: new X509Certificate(this.pem) };
    const certificate = createCertificate({ subject, publicKey, usage, altNames, notBefore, notAfter }, issuer);
    return { key: keyPem(privateKey), certificate };
  }

  private validity(): [number, number] {
    return [Date.now() - HOUR, Date.now() + HOUR];
  }
}
