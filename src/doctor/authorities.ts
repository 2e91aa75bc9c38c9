import { existsSync } from 'node:fs';
import { type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import { parseBundle } from '../authentication/request/client-ca.js';
import { readFile } from '../server/certificates/data-directory.js';
import { SERVING_AUTHORITIES, servingCas } from '../server/certificates/serving-certificates.js';
import { type StorageOptions, embeddedDirectory } from '../server/options/storage-options.js';
import type { Clock } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import { type Finding, ok, skipped, failed } from './finding.js';
import { nameOf } from '../apimachinery/meta/meta.js';
import { withEmbeddedStore, withMongo } from './store.js';

export interface AuthorityOptions extends StorageOptions {
  readonly tlsCertFile: string;
  readonly serviceCaFile: string;
}

/**
 * Returns the fingerprints of the CAs of the server's certificates, from the file or the store; undefined if they cannot be read, which
 * other checks report.
 */
export async function servedAuthorities(
  options: AuthorityOptions,
  clock: Clock,
): Promise<readonly string[] | undefined> {
  try {
    if (options.tlsCertFile !== '') return fingerprints(readFile(options.serviceCaFile, '--service-ca-file'));
    const bytes = options.storageBackend === 'mongodb' ? await ofMongo(options) : await ofDirectory(options, clock);
    return bytes === undefined ? undefined : servingCas(bytes).flatMap((pem) => fingerprints(pem));
  } catch {
    return undefined;
  }
}

async function ofDirectory(options: AuthorityOptions, clock: Clock): Promise<Uint8Array | undefined> {
  if (!existsSync(embeddedDirectory(options))) return undefined;
  const { resource, key } = SERVING_AUTHORITIES;
  return withEmbeddedStore(options, clock, async (backend) => (await backend.get(resource, key))?.bytes);
}

async function ofMongo(options: AuthorityOptions): Promise<Uint8Array | undefined> {
  const { statesOf, storedOf } = await import('../storage/mongodb/documents.js');
  return withMongo(options, async ({ db }) => {
    const found = await statesOf(db, SERVING_AUTHORITIES.resource).findOne({ _id: SERVING_AUTHORITIES.key });
    return found === null ? undefined : storedOf(found)?.bytes;
  });
}

const fingerprints = (pem: string): string[] => parseBundle(pem).map(({ certificate }) => certificate.fingerprint256);

/** Checks whether the APIServices make the cluster accept the server's certificate: their caBundle has the server's CAs, and a valid one. */
export function checkCaBundles(
  services: readonly JsonObject[],
  authorities: readonly string[] | undefined,
  now: number,
): Finding {
  const check = 'caBundle';
  if (services.length === 0) return skipped(check, 'no APIService has one');
  let until = Infinity;
  for (const service of services) {
    try {
      const text = Buffer.from(stringAt(objectAt(service, 'spec'), 'caBundle') ?? '', 'base64').toString('utf8');
      const bundle = parseBundle(text).map(({ certificate }) => certificate);
      const last = Math.max(...bundle.map((certificate) => Date.parse(certificate.validTo)));
      if (last <= now) throw new Error(`all its CAs have expired, the last on ${new Date(last).toISOString()}`);
      until = Math.min(until, last);
      const has = bundle.map((certificate) => certificate.fingerprint256);
      if (authorities?.some((one) => !has.includes(one)) === true) throw new Error('it lacks a CA of the server');
    } catch (error) {
      return failed(
        check,
        `APIService ${nameOf(service)}: ${messageOf(error)}`,
        'check the log of annex serve, which updates it every minute if it is allowed to update apiservices',
      );
    }
  }
  const known = authorities === undefined ? ', not compared with the CAs of the server' : '';
  return ok(check, `valid until ${new Date(until).toISOString()}${known}`);
}
