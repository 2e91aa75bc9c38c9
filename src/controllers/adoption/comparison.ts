import { createHash } from 'node:crypto';
import { parseJson } from '../../apimachinery/json/decode.js';
import { isObject, type JsonValue } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { Revision, Staging } from '../../storage/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import type { ClusterCollection } from './collection.js';
import { type Copier, keyOf, revisionOf } from './copier.js';
import type { RateLimit } from './rate-limit.js';
import type { WhyInvalid } from './validity.js';

/** The copy gets this long to have what the cluster has just shown. */
const CATCH_UP_MILLIS = 30_000;
const POLL_MILLIS = 200;
/** As long as they are no more than this, objects that the copy lacks are looked up in the cluster. */
const ASKED_ONE_BY_ONE = 20;

export interface Comparison {
  readonly objects: number;
  /** Objects that are only on one side, or of one revision with different content. */
  readonly differences: number;
  /** One of them, for people. */
  readonly example: string;
  /** Digest of all namespaces' digests. */
  readonly digest: string;
  /** Objects that their schema would refuse: they are older than it. */
  readonly invalid: number;
  /** One of them and why, for people. */
  readonly invalidExample: string;
}

export interface ComparisonOptions {
  readonly collection: Pick<ClusterCollection, 'page' | 'has'>;
  readonly staging: Pick<Staging, 'states'>;
  readonly copier: Pick<Copier, 'keys' | 'revisionOf'>;
  readonly resource: string;
  readonly clock: Clock;
  readonly rate: RateLimit;
  readonly whyInvalid: WhyInvalid;
}

/**
 * Reads both sides once and compares them, object by object. An object that changes meanwhile is compared in whichever state both
 * sides have shown, or is waited for until the copy has it.
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
    // What the copy has of later is of no interest.
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
  /** The copy does not have them, or has older states. */
  readonly absent: readonly KubeObject[];
  readonly different: readonly string[];
  /** Of those that the schema would refuse, key and reason. */
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
    if (slicer.isOver) await slicer.yield();
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

/** The keys that the copy does not get in time, and the cluster still has. */
async function missingIn(
  { collection, copier, clock }: ComparisonOptions,
  late: readonly KubeObject[],
  signal: AbortSignal,
): Promise<string[]> {
  const end = clock.monotonic() + CATCH_UP_MILLIS;
  for (let left = late; ;) {
    left = left.filter((object) => (copier.revisionOf(keyOf(object)) ?? 0) < revisionOf(object));
    // Those that were deleted meanwhile are missing rightly.
    if (left.length <= ASKED_ONE_BY_ONE) left = await filtered(left, (object) => collection.has(object));
    if (left.length === 0 || clock.monotonic() >= end || signal.aborted) return left.map(keyOf);
    await sleep(clock, POLL_MILLIS, signal);
  }
}

/** The keys that the cluster did not show up to a revision, and that the copy does not lose in time. */
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

/** A sum of digests, the same in whatever order they come. */
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

/** Of an object, whatever the order of its fields. */
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
