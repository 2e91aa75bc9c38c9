import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { parseJson } from '../../../src/apimachinery/json/decode.js';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { SERVING_AUTHORITIES } from '../../../src/server/certificates/serving-certificates.js';
import { encodeObject } from '../../../src/storage/encode.js';
import { MongoBackend } from '../../../src/storage/mongodb/backend.js';
import { createCertificate } from '../../../src/pki/certificates.js';
import { digList, digText, treeOf } from '../../integration/client.js';
import { pause } from '../../storage/mongod.js';
import { NAMESPACE, type TestCluster } from '../cluster.js';
import { GROUP } from '../widgets.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LOOK_MILLIS = 250;
/** Each replica checks the CAs once a minute. */
const STEP_MILLIS = 120_000;
const OURS = '/apis/apiregistration.k8s.io/v1/apiservices?labelSelector=app.kubernetes.io/managed-by%3Dannex';

interface Age {
  readonly begun: number;
  readonly left: number;
}

/**
 * Rotates the CA shared by the replicas while the other tests run. A CA is due after ten years and signs an hour after its creation, so the
 * test backdates the certificates in the store. Their keys stay.
 */
export class Rotation {
  private done: Promise<void> = Promise.resolve();
  private rounds = 0;

  constructor(private readonly cluster: TestCluster) {}

  begin(): void {
    this.done = this.run();
    this.done.catch(() => undefined);
  }

  /** Waits for the rotation and returns the number of successful checks during it. */
  async end(): Promise<number> {
    await this.done;
    return this.rounds;
  }

  private async run(): Promise<void> {
    const [old] = await this.bundle();
    await this.age([{ begun: 30 * DAY, left: 20 * DAY }]);
    // The new CA is published before it signs anything.
    await this.until(
      'a second CA, beside the old one as it was and as it is now',
      async () => (await this.bundle()).length === 3 && (await this.shown(old)).every(Boolean),
    );
    const [fresh] = await this.bundle();
    await this.cluster.trustAnew();
    await this.age([
      { begun: 3 * HOUR, left: 3650 * DAY },
      { begun: 30 * DAY, left: 20 * DAY },
    ]);
    await this.until('it signs', async () => (await this.shown(fresh)).every(Boolean));
    await this.cluster.trustAnew();
  }

  /** Until then, clients that trust the CAs in the APIServices accept both replicas, and the aggregator's requests succeed. */
  private async until(what: string, reached: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + STEP_MILLIS;
    while (!(await reached())) {
      if (performance.now() > end) throw new Error(`${what}: not within ${STEP_MILLIS} ms`);
      const bundle = (await this.bundle()).join('');
      for (const { port } of this.cluster.replicas) await leafOf(port, bundle);
      const answer = await this.cluster.http.get(`/apis/${GROUP}/v1/widgets?limit=1`);
      if (answer.status !== 200) throw new Error(`${what}: ${answer.status} ${answer.text}`);
      this.rounds++;
      await pause(LOOK_MILLIS);
    }
  }

  /** Returns the CAs that all APIServices have. */
  private async bundle(): Promise<string[]> {
    const items = digList(treeOf(await this.cluster.http.get(OURS)), 'items');
    const bundles = items.map((item) => Buffer.from(digText(item, 'spec', 'caBundle'), 'base64').toString('utf8'));
    // The APIServices are updated one after another, so the one that is not yet updated counts.
    const shortest = bundles.sort((a, b) => a.length - b.length)[0] ?? '';
    return shortest.split(/(?<=-----END CERTIFICATE-----\n)/).filter((one) => one.trim() !== '');
  }

  /** For each replica, reports whether the CA issued its serving certificate. */
  private async shown(ca: string | undefined): Promise<boolean[]> {
    const issuer = new X509Certificate(ca ?? '');
    const all = (await this.bundle()).join('');
    const leaves = await Promise.all(this.cluster.replicas.map(({ port }) => leafOf(port, all)));
    return leaves.map((leaf) => leaf.verify(issuer.publicKey));
  }

  private async age(ages: readonly Age[]): Promise<void> {
    const flag = '--mongodb-database=';
    const { args } = this.cluster.replica(0).daemon;
    const database = args.find((arg) => arg.startsWith(flag))?.slice(flag.length) ?? '';
    const backend = new MongoBackend({ uri: this.cluster.mongodb.uri, database });
    await backend.open();
    try {
      const { resource, key } = SERVING_AUTHORITIES;
      const stored = await backend.get(resource, key);
      const document = parseJson(Buffer.from(stored?.bytes ?? [])) as JsonObject;
      const authorities = digList(document, 'authorities').map((one, i) => aged(one as JsonObject, ages[i]));
      const value = encodeObject({ ...document, authorities });
      const { outcome } = await backend.write({ resource, key, expected: stored?.revision ?? 0, value });
      expect(outcome).toBe('committed');
    } finally {
      await backend.close();
    }
  }
}

function aged(authority: JsonObject, age: Age | undefined): JsonObject {
  if (age === undefined) throw new Error('there are more CAs than expected');
  const key = createPrivateKey(digText(authority, 'key'));
  const commonName = /^CN=(.*)$/m.exec(new X509Certificate(digText(authority, 'cert')).subject)?.[1] ?? '';
  const times = { notBefore: Date.now() - age.begun, notAfter: Date.now() + age.left };
  const request = { subject: { commonName }, publicKey: createPublicKey(key), usage: 'ca' as const, ...times };
  return { ...authority, cert: createCertificate(request, { key }) };
}

/** Returns the certificate of a replica. Throws if a client that trusts only these CAs does not accept it. */
function leafOf(port: number, ca: string): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ca, servername: `annex.${NAMESPACE}.svc` }, () => {
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      if (certificate === undefined) reject(new Error('no certificate was shown'));
      else resolve(certificate);
    });
    socket.on('error', reject);
  });
}
