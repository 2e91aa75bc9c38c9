import { conditionsOf } from '../apimachinery/meta/conditions.js';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { objectAt, stringAt } from '../apimachinery/json/json.js';
import { objectsOf } from '../apimachinery/json/values.js';
import { ClusterClient } from '../client/cluster-client.js';
import type { Options } from '../server/options/options.js';
import type { Clock } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import type { Cluster } from './cluster.js';
import { checkFiles } from './files.js';
import { type Finding, ok, skipped, warning, wrong } from './finding.js';
import { checkStore } from './store.js';

const DAY = 86_400_000;
/** The server renews its certificates at a start within this time of their end. */
const SOON = 30 * DAY;
const CERTIFICATES = 'certificates';
const SERVER = 'server';
const READINESS = 'readiness';
const DEFINITIONS = 'definitions';

/**
 * A server by itself: its data directory, whether it runs or not, and the server, if it does. `serverKubeconfig` names a server that
 * may be elsewhere; nothing is looked at on this machine then, unless the flags say where.
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
    yield checkFiles(options);
    yield checkOwnCertificates(options, clock.now());
  }
  const path = serverKubeconfig === '' ? join(resolve(options.dataDir), 'admin.kubeconfig') : serverKubeconfig;
  if (serverKubeconfig === '' && !existsSync(path)) {
    yield skipped(SERVER, `it has not been started yet: there is no ${path}`);
    return;
  }
  yield* examineServer(path, inUse || serverKubeconfig !== '', clock);
}

async function* examineServer(path: string, runs: boolean, clock: Clock): AsyncGenerator<Finding> {
  let client: ClusterClient;
  try {
    client = ClusterClient.load(path, clock);
  } catch (error) {
    yield wrong(SERVER, error, 'naming a kubeconfig with an https server in --server-kubeconfig');
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

/** `runs`: it is known that the server runs, or should. */
export async function checkServer(client: Pick<Cluster, 'call'>, server: string, runs: boolean): Promise<Finding> {
  try {
    const { status, body } = await client.call('GET', '/version');
    if (status === 401) {
      return wrong(SERVER, `${server} does not know the identity in use`, 'renewing the credentials of the kubeconfig');
    }
    if (status !== 200) throw new Error(stringAt(body, 'message') ?? `status ${status}`);
    return ok(SERVER, `${server}, ${stringAt(body, 'gitVersion') ?? 'of unknown version'}`);
  } catch (error) {
    const what = `${server}: ${messageOf(error)}`;
    if (!runs) return skipped(SERVER, `it does not run (${what})`);
    return wrong(SERVER, what, 'starting `annex serve`, or correcting server and CA of the kubeconfig');
  }
}

export async function checkReadiness(client: Pick<Cluster, 'call'>): Promise<Finding> {
  try {
    const { status, body } = await client.call('GET', '/readyz');
    const text = stringAt(body, 'message') ?? '';
    if (status === 200) return ok(READINESS, '');
    const failed = [...text.matchAll(/^\[-\](\S+)/gm)].map(([, name]) => name ?? '');
    const what = failed.length === 0 ? text : `the checks ${failed.join(', ')} fail`;
    return wrong(READINESS, what, 'reading what the log of annex serve says of them');
  } catch (error) {
    return wrong(READINESS, error, 'looking whether annex serve still runs');
  }
}

/** Definitions that are not served, and why. */
export async function checkDefinitions(client: Pick<Cluster, 'must'>): Promise<Finding> {
  try {
    const list = await client.must('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
    const items = objectsOf(list?.['items']);
    const refused = items.flatMap((definition) => {
      const condition = conditionsOf(definition).find(
        ({ type, status }) => type === 'NamesAccepted' && status === 'False',
      );
      const name = stringAt(objectAt(definition, 'metadata'), 'name') ?? '';
      return condition === undefined ? [] : [`${name}: ${stringAt(condition, 'message') ?? ''}`];
    });
    if (refused.length === 0) return ok(DEFINITIONS, `${items.length} are there`);
    return wrong(DEFINITIONS, refused.join('; '), 'giving each definition of a group names of its own');
  } catch (error) {
    return wrong(DEFINITIONS, error, 'letting the identity in use list customresourcedefinitions');
  }
}

/** The serving certificate of the flags, or those of the data directory. */
export function checkOwnCertificates(
  { tlsCertFile, dataDir }: Pick<Options, 'tlsCertFile' | 'dataDir'>,
  now: number,
): Finding {
  const pki = join(resolve(dataDir), 'pki');
  const own = ['ca.crt', 'client-ca.crt', 'apiserver.crt', 'admin.crt'].map((name) => join(pki, name));
  const paths = tlsCertFile === '' ? own : [tlsCertFile, join(pki, 'client-ca.crt'), join(pki, 'admin.crt')];
  const mend = tlsCertFile === '' ? 'starting annex serve anew, which renews it' : 'renewing it';
  let first = { path: '', end: Infinity };
  for (const path of paths) {
    if (!existsSync(path)) continue;
    try {
      const end = Date.parse(new X509Certificate(readFileSync(path)).validTo);
      if (end < first.end) first = { path, end };
    } catch (error) {
      return wrong(
        CERTIFICATES,
        `${path}: ${messageOf(error)}`,
        'giving a PEM certificate, or restoring it from a backup',
      );
    }
  }
  if (first.path === '') return ok(CERTIFICATES, 'they will be made at the first start');
  const until = new Date(first.end).toISOString();
  if (first.end <= now) return wrong(CERTIFICATES, `${first.path} expired on ${until}`, mend);
  if (first.end - now < SOON) return warning(CERTIFICATES, `${first.path} expires on ${until}: mend it by ${mend}`);
  return ok(CERTIFICATES, `the first expires on ${until}`);
}
