import { createHash, type X509Certificate } from 'node:crypto';
import { explicitTag, type DerNode, oidText, readDer, stringText, Tag } from '../../pki/der.js';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const KUBERNETES_UID = '1.3.6.1.4.1.57683.2';
const KEY_USAGE = '2.5.29.15';
const ALT_NAMES = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const NAME_CONSTRAINTS = '2.5.29.30';
const EXT_KEY_USAGE = '2.5.29.37';
/** Extensions that may be critical, because they are evaluated or do not matter for clients. */
const HANDLED = new Set([
  KEY_USAGE,
  ALT_NAMES,
  BASIC_CONSTRAINTS,
  NAME_CONSTRAINTS,
  EXT_KEY_USAGE,
  '2.5.29.35',
  '2.5.29.14',
]);

/** The number of signatures that may still be checked for one chain. */
export interface SignatureBudget {
  left: number;
}

interface Attribute {
  readonly type: string;
  readonly value: string;
}

/** The parts of a certificate that authentication needs, read from its DER: node:crypto returns names only as ambiguous text. */
export class CertificateInfo {
  readonly notBefore: number;
  readonly notAfter: number;
  /** SHA-256 of the certificate in lowercase hex. */
  readonly fingerprint: string;
  readonly extKeyUsages: readonly string[];
  /** Object identifiers of critical extensions that are not handled. */
  readonly unhandledCriticalExtensions: readonly string[];
  readonly hasAltNames: boolean;
  readonly hasNameConstraints: boolean;
  private readonly attributes: readonly Attribute[];
  private readonly basicConstraints: { ca: boolean; pathLength: number | undefined } | undefined;
  private readonly signsCertificates: boolean;

  constructor(readonly certificate: X509Certificate) {
    this.notBefore = Date.parse(certificate.validFrom);
    this.notAfter = Date.parse(certificate.validTo);
    this.fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
    const fields = readDer(certificate.raw).expect(Tag.SEQUENCE).children()[0]?.expect(Tag.SEQUENCE).children() ?? [];
    const shift = fields[0]?.tag === explicitTag(0) ? 1 : 0;
    this.attributes = readName(fields[4 + shift]);
    const extensions = readExtensions(fields.find((field) => field.tag === explicitTag(3)));
    this.unhandledCriticalExtensions = [...extensions]
      .filter(([type, { critical }]) => critical && !HANDLED.has(type))
      .map(([type]) => type);
    this.extKeyUsages = readUsages(extensions.get(EXT_KEY_USAGE)?.value);
    this.basicConstraints = readBasicConstraints(extensions.get(BASIC_CONSTRAINTS)?.value);
    this.signsCertificates = readSigns(extensions.get(KEY_USAGE)?.value);
    this.hasAltNames = extensions.has(ALT_NAMES);
    this.hasNameConstraints = extensions.has(NAME_CONSTRAINTS);
  }

  /** The last common name, as in Go's pkix.Name; '' if there is none. */
  get commonName(): string {
    return this.values(COMMON_NAME).at(-1) ?? '';
  }

  get organizations(): readonly string[] {
    return this.values(ORGANIZATION);
  }

  get uids(): readonly string[] {
    return this.values(KUBERNETES_UID);
  }

  get isCa(): boolean {
    return this.basicConstraints?.ca === true;
  }

  /**
   * Reports whether this certificate issued `child`, with `below` CAs between this one and the leaf. Throws if the budget of
   * signatures is used up.
   */
  mayIssue(child: CertificateInfo, below: number, budget: SignatureBudget): boolean {
    const { basicConstraints } = this;
    if (basicConstraints !== undefined && !basicConstraints.ca) return false;
    if (basicConstraints?.pathLength !== undefined && below > basicConstraints.pathLength) return false;
    if (!this.signsCertificates) return false;
    if (!child.certificate.checkIssued(this.certificate)) return false;
    if (budget.left-- <= 0)
      throw new Error('x509: signature check attempts limit reached while verifying certificate chain');
    return child.certificate.verify(this.certificate.publicKey);
  }

  private values(type: string): string[] {
    return this.attributes.filter((attribute) => attribute.type === type).map(({ value }) => value);
  }
}

function readName(name: DerNode | undefined): Attribute[] {
  const out: Attribute[] = [];
  for (const set of name?.expect(Tag.SEQUENCE).children() ?? []) {
    for (const pair of set.expect(Tag.SET).children()) {
      const [type, value] = pair.expect(Tag.SEQUENCE).children();
      if (type === undefined || value === undefined) continue;
      const oid = oidText(type.expect(Tag.OID).content);
      if (oid === COMMON_NAME || oid === ORGANIZATION || oid === KUBERNETES_UID) {
        out.push({ type: oid, value: stringText(value) });
      }
    }
  }
  return out;
}

function readExtensions(field: DerNode | undefined): Map<string, { critical: boolean; value: Buffer }> {
  const out = new Map<string, { critical: boolean; value: Buffer }>();
  for (const extension of field?.children()[0]?.expect(Tag.SEQUENCE).children() ?? []) {
    const parts = extension.expect(Tag.SEQUENCE).children();
    const type = parts[0]?.expect(Tag.OID);
    const value = parts.at(-1)?.expect(Tag.OCTET_STRING);
    if (type === undefined || value === undefined) continue;
    const critical = parts.length === 3 && parts[1]?.content[0] !== 0;
    out.set(oidText(type.content), { critical, value: value.content });
  }
  return out;
}

function readUsages(value: Buffer | undefined): string[] {
  if (value === undefined) return [];
  return readDer(value)
    .children()
    .map((usage) => oidText(usage.expect(Tag.OID).content));
}

function readBasicConstraints(value: Buffer | undefined): { ca: boolean; pathLength: number | undefined } | undefined {
  if (value === undefined) return undefined;
  let ca = false;
  let pathLength: number | undefined;
  for (const part of readDer(value).children()) {
    if (part.tag === Tag.BOOLEAN) ca = part.content[0] !== 0;
    else if (part.tag === Tag.INTEGER && part.content.length <= 4)
      pathLength = part.content.readUIntBE(0, part.content.length);
  }
  return { ca, pathLength };
}

/** Reports whether the key usage includes keyCertSign or is absent. */
function readSigns(value: Buffer | undefined): boolean {
  if (value === undefined) return true;
  const { content } = readDer(value).expect(Tag.BIT_STRING);
  return ((content[1] ?? 0) & 0x04) !== 0;
}
