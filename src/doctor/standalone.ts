import { conditionsOf } from '../apimachinery/meta/conditions.js';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { objectsOf, stringAt } from '../apimachinery/json/json.js';
import { ClusterClient } from '../client/cluster-client.js';
import type { Options } from '../server/options/options.js';
import type { Clock } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import type { Cluster } from './cluster.js';
import { checkFiles } from './files.js';
import { type Finding, ok, skipped, warning, failed } from './finding.js';
import { checkStore, checkStoreOwner } from './store.js';
import { STANDALONE } from '../storage/mongodb/documents.js';
import { nameOf } from '../apimachinery/meta/meta.js';

const DAY = 86_400_000;
/** At startup, the server renews certificates that expire within this time. */
const SOON = 30 * DAY;
const CERTIFICATES = 'certificates';
const SERVER = 'server';
const READINESS = 'readiness';
const DEFINITIONS = 'definitions';

/**
 * Checks a standalone server: its data directory, whether it runs or not, and the server, if it runs. `serverKubeconfig` names a server
 * that may be elsewhere; then nothing on this machine is checked, unless the flags say where.
 */
export async function* examineStandalone(
  options: Options,
  serverKubeconfig: string,
  clock: Clock,
): AsyncGenerator<Finding> {
  const isHere = serverKubeconfig === '' || options.given.has('data-dir') || options.storageBackend === 'mongodb';
  let inUse = false;
  if (isHere) {
    const store = await checkStore(options, clock);
    inUse = store.verdict === 'skipped';
    yield store;
    const owner =
      store.verdict === 'ok' ? await checkStoreOwner(options, () => Promise.resolve(STANDALONE)) : undefined;
    if (owner !== undefined) yield owner;
    yield checkFiles(options);
    yield checkOwnCertificates(options, clock.now());
  }
  const path = serverKubeconfig === '' ? join(resolve(options.dataDir), 'admin.kubeconfig') : serverKubeconfig;
  if (serverKubeconfig === '' && !existsSync(path)) {
    yield skipped(SERVER, `not started yet: ${path} does not exist`);
    return;
  }
  yield* examineServer(path, inUse || serverKubeconfig !== '', clock);
}

async function* examineServer(path: string, runs: boolean, clock: Clock): AsyncGenerator<Finding> {
  let client: ClusterClient;
  try {
    client = ClusterClient.load(path, clock);
  } catch (error) {
    yield failed(SERVER, error, 'set --server-kubeconfig to a kubeconfig with an https server');
    return;
  }
  try {
    const server = await checkServer(client, client.server, runs);
    yield server;
    if (server.verdict !== 'ok') return;
    yield await checkReadiness(client);
    yield await checkDefinitions(client);
  } finally {
    client.close();
  }
}

/** `runs`: the server is known to run, or should. */
export async function checkServer(client: Pick<Cluster, 'call'>, server: string, runs: boolean): Promise<Finding> {
  try {
    const { status, body } = await client.call('GET', '/version');
    if (status === 401) {
      return failed(
        SERVER,
        `${server} does not accept the credentials in use`,
        'renew the credentials in the kubeconfig',
      );
    }
    if (status !== 200) throw new Error(stringAt(body, 'message') ?? `status ${status}`);
    return ok(SERVER, `${server}, ${stringAt(body, 'gitVersion') ?? 'of unknown version'}`);
  } catch (error) {
    const what = `${server}: ${messageOf(error)}`;
    if (!runs) return skipped(SERVER, `not running (${what})`);
    return failed(SERVER, what, 'start `annex serve`, or correct the server and CA in the kubeconfig');
  }
}

export async function checkReadiness(client: Pick<Cluster, 'call'>): Promise<Finding> {
  try {
    const { status, body } = await client.call('GET', '/readyz');
    const text = stringAt(body, 'message') ?? '';
    if (status === 200) return ok(READINESS, '');
    const names = [...text.matchAll(/^\[-\](\S+)/gm)].map(([, name]) => name ?? '');
    const what = names.length === 0 ? text : `these checks fail: ${names.join(', ')}`;
    return failed(READINESS, what, 'search the log of annex serve for these checks');
  } catch (error) {
    return failed(READINESS, error, 'check that annex serve is still running');
  }
}

/** Checks for definitions that are not served, and reports why. */
export async function checkDefinitions(client: Pick<Cluster, 'must'>): Promise<Finding> {
  try {
    const list = await client.must('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
    const items = objectsOf(list?.['items']);
    const refused = items.flatMap((definition) => {
      const condition = conditionsOf(definition).find(
        ({ type, status }) => type === 'NamesAccepted' && status === 'False',
      );
      return condition === undefined ? [] : [`${nameOf(definition)}: ${stringAt(condition, 'message') ?? ''}`];
    });
    if (refused.length === 0) return ok(DEFINITIONS, `${items.length} served`);
    return failed(DEFINITIONS, refused.join('; '), 'use unique names for each definition of a group');
  } catch (error) {
    return failed(DEFINITIONS, error, 'allow the identity in use to list customresourcedefinitions');
  }
}

/** Checks when the serving certificate of the flags, or those of the data directory, expire. */
export function checkOwnCertificates(
  { tlsCertFile, dataDir }: Pick<Options, 'tlsCertFile' | 'dataDir'>,
  now: number,
): Finding {
  const pki = join(resolve(dataDir), 'pki');
  const own = ['ca.crt', 'client-ca.crt', 'apiserver.crt', 'admin.crt'].map((name) => join(pki, name));
  const paths = tlsCertFile === '' ? own : [tlsCertFile, join(pki, 'client-ca.crt'), join(pki, 'admin.crt')];
  const hint = tlsCertFile === '' ? 'restart annex serve, which renews it' : 'renew it';
  let first = { path: '', end: Infinity };
  for (const path of paths) {
    if (!existsSync(path)) continue;
    try {
      const end = Date.parse(new X509Certificate(readFileSync(path)).validTo);
      if (end < first.end) first = { path, end };
    } catch (error) {
      return failed(
        CERTIFICATES,
        `${path}: ${messageOf(error)}`,
        'put a PEM certificate there, or restore it from a backup',
      );
    }
  }
  if (first.path === '') return ok(CERTIFICATES, 'created at the first start');
  const until = new Date(first.end).toISOString();
  if (first.end <= now) return failed(CERTIFICATES, `${first.path} expired on ${until}`, hint);
  if (first.end - now < SOON) return warning(CERTIFICATES, `${first.path} expires on ${until}; fix: ${hint}`);
  return ok(CERTIFICATES, `the earliest expires on ${until}`);
}
