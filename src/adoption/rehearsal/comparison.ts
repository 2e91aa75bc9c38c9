import { createHash } from 'node:crypto';
import { parseJson } from '../../apimachinery/json/decode.js';
import { isObject, type JsonValue } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { Revision, Staging } from '../../storage/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import type { ClusterCollection } from './collection.js';
import { type Copier, keyOf, revisionOf } from './copier.js';
import type { RateLimit } from '../rate-limit.js';
import type { ObjectValidator } from './validity.js';

/** How long the copy may take to catch up with the cluster's list, in milliseconds. */
const CATCH_UP_MILLIS = 30_000;
const POLL_MILLIS = 200;
/** Up to this number, objects that the copy lacks are looked up in the cluster one by one. */
const ASKED_ONE_BY_ONE = 20;

export interface Comparison {
  readonly objects: number;
  /** The number of objects that exist on one side only, or that differ at the same revision. */
  readonly differences: number;
  /** The key of one of them, for the status. */
  readonly example: string;
  /** The digest over the digests of all namespaces. */
  readonly digest: string;
  /** The number of objects that their schema would reject: they are older than it. */
  readonly invalid: number;
  /** One of them with the reason, for the status. */
  readonly invalidExample: string;
}

export interface ComparisonOptions {
  readonly collection: Pick<ClusterCollection, 'page' | 'has'>;
  readonly staging: Pick<Staging, 'states'>;
  readonly copier: Pick<Copier, 'keys' | 'revisionOf'>;
  readonly resource: string;
  readonly clock: Clock;
  readonly rate: RateLimit;
  readonly whyInvalid: ObjectValidator;
}

/**
 * Reads both sides once and compares them object by object. An object that changes meanwhile is compared in a state that both sides have
 * shown; otherwise the comparison waits until the copy has it.
 */
export async function compareSides(options: ComparisonOptions, signal: AbortSignal): Promise<Comparison> {
  const { collection, rate } = options;
  const namespaces = new Map<string, DigestSum>();
  const unseen = new Set(options.copier.keys());
  const differing: string[] = [];
  const late: KubeObject[] = [];
  let [objects, invalid, invalidExample] = [0, 0, ''];
  let revision = Infinity;
  for (let token = ''; ;) {
    const page = await collection.page(token);
    const { absent, different, refused } = await compareObjects(options, page.objects, namespaces);
    // Objects that the copy got after the oldest page are not reported.
    revision = Math.min(revision, Number(page.revision));
    late.push(...absent);
    differing.push(...different);
    invalid += refused.length;
    if (invalidExample === '') invalidExample = refused[0] ?? '';
    for (const object of page.objects) unseen.delete(keyOf(object));
    objects += page.objects.length;
    token = page.continue;
    if (token === '') break;
    await rate.take(page.objects.length, signal);
    if (signal.aborted) throw new Error('the comparison was stopped');
  }
  differing.push(...(await missingIn(options, late, signal)));
  differing.push(...(await stillThere(options, [...unseen], revision, signal)));
  const [example = ''] = differing;
  return {
    ...{ objects, example, invalid, invalidExample },
    differences: differing.length,
    digest: digestOf(namespaces),
  };
}

interface Compared {
  /** Objects that the copy lacks, or has in an older state. */
  readonly absent: readonly KubeObject[];
  readonly different: readonly string[];
  /** Key and reason for each object that the schema would reject. */
  readonly refused: readonly string[];
}

async function compareObjects(
  { staging, resource, clock, whyInvalid }: ComparisonOptions,
  objects: readonly KubeObject[],
  namespaces: Map<string, DigestSum>,
): Promise<Compared> {
  const copies = await staging.states(resource, objects.map(keyOf));
  const absent: KubeObject[] = [];
  const different: string[] = [];
  const refused: string[] = [];
  const slicer = new Slicer(clock);
  for (const object of objects) {
    if (slicer.isExhausted) await slicer.yield();
    const key = keyOf(object);
    const copy = copies.get(key);
    const revision = revisionOf(object);
    const digest = contentDigest(object);
    sumOf(namespaces, object.metadata.namespace ?? '').add(`${key} ${digest}`);
    if (copy === undefined || copy.revision < revision) absent.push(object);
    else if (copy.revision === revision && contentDigest(parseJson(copy.bytes)) !== digest) different.push(key);
    const why = whyInvalid(object);
    if (why !== '') refused.push(`${key}: ${why}`);
  }
  return { absent, different, refused };
}

/** Returns the keys that the copy does not receive in time and that the cluster still has. */
async function missingIn(
  { collection, copier, clock }: ComparisonOptions,
  late: readonly KubeObject[],
  signal: AbortSignal,
): Promise<string[]> {
  const end = clock.monotonic() + CATCH_UP_MILLIS;
  for (let left = late; ;) {
    left = left.filter((object) => (copier.revisionOf(keyOf(object)) ?? 0) < revisionOf(object));
    // Objects deleted meanwhile are rightly missing.
    if (left.length <= ASKED_ONE_BY_ONE) left = await filtered(left, (object) => collection.has(object));
    if (left.length === 0 || clock.monotonic() >= end || signal.aborted) return left.map(keyOf);
    await sleep(clock, POLL_MILLIS, signal);
  }
}

/** Returns the keys that the cluster does not list as of a revision and that the copy does not drop in time. */
async function stillThere(
  { copier, clock }: ComparisonOptions,
  unseen: readonly string[],
  revision: Revision,
  signal: AbortSignal,
): Promise<string[]> {
  const end = clock.monotonic() + CATCH_UP_MILLIS;
  for (let left = unseen; ;) {
    left = left.filter((key) => (copier.revisionOf(key) ?? Infinity) <= revision);
    if (left.length === 0 || clock.monotonic() >= end || signal.aborted) return [...left];
    await sleep(clock, POLL_MILLIS, signal);
  }
}

async function filtered<T>(all: readonly T[], test: (one: T) => Promise<boolean>): Promise<T[]> {
  const kept: T[] = [];
  for (const one of all) if (await test(one)) kept.push(one);
  return kept;
}

/** A sum of digests that does not depend on their order. */
class DigestSum {
  private sum = 0n;

  add(text: string): void {
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
    this.sum = (this.sum + BigInt(`0x${digest}`)) % (1n << 128n);
  }

  get text(): string {
    return this.sum.toString(16);
  }
}

function sumOf(namespaces: Map<string, DigestSum>, namespace: string): DigestSum {
  let sum = namespaces.get(namespace);
  if (sum === undefined) namespaces.set(namespace, (sum = new DigestSum()));
  return sum;
}

function digestOf(namespaces: ReadonlyMap<string, DigestSum>): string {
  const lines = [...namespaces].map(([namespace, { text }]) => `${namespace} ${text}`).sort();
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16);
}

/** Returns the digest of an object, regardless of the order of its fields. */
function contentDigest(object: JsonValue): string {
  return createHash('sha256').update(canonical(object)).digest('hex');
}

function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (isObject(value)) {
    const fields = Object.keys(value).sort();
    return `{${fields.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
  }
  return value === undefined || typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}
