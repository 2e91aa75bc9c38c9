import { randomUUID } from 'node:crypto';
import { watchCache } from '../../../util/caches/cache-metrics.js';
import { LruCache } from '../../../util/caches/lru-cache.js';
import { parseJson } from '../../../apimachinery/json/decode.js';
import { ApiError } from '../../../apimachinery/meta/errors.js';
import {
  isObject,
  type JsonObject,
  objectAt,
  stringAt,
  stringifyJson,
  stringsOf,
  textAt,
} from '../../../apimachinery/json/json.js';
import {
  type KubeObject,
  goJson,
  kindNotRegistered,
  parseGroupVersion,
  quote,
} from '../../../apimachinery/meta/meta.js';
import { ConversionPending } from '../../../managedfields/interfaces.js';
import { boundedKey } from '../../../util/caches/ttl-cache.js';
import { messageOf } from '../../../util/error-message.js';
import type { Clock } from '../../../util/clock.js';
import { type Conversion, noConversion, type ReviewSender } from './conversion.js';
import { type ConversionOutcome, type ConversionFailure, observeConversion } from './conversion-metrics.js';
import { printedKind } from '../../../admission/type-meta.js';
import type { Definition } from '../definition.js';
import { checkIdentity, restoredMetadata } from './converted-metadata.js';

export interface WebhookConversionOptions {
  /** The versions of ConversionReview that the webhook accepts, in its order of preference. */
  readonly reviewVersions: readonly string[];
  readonly sender: ReviewSender;
  /** The name of the definition. */
  readonly name: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Called for each review, whether answered or not. */
  readonly observe?: (asked: ConversionOutcome) => void;
}

const GROUP = 'apiextensions.k8s.io';
const REVIEW_VERSIONS = ['v1', 'v1beta1'];
/** The maximum number and size (in characters) of the objects in one review. A single larger object gets a review of its own. */
const MAX_OBJECTS = 200;
const MAX_CHARACTERS = 1 << 20;
/** The maximum number of bytes of the outcomes kept for steps that run again. The newest one is kept whatever its size. */
const MAX_KEPT_BYTES = 16 << 20;
const ENTRY_BYTES = 512;
/** Longer texts of failures are cut: a webhook chooses what they quote. */
const MAX_FAILURE_CHARACTERS = 16 << 10;

/** Returns the conversion that a definition asks for. `sender` creates the client of a webhook with these settings. */
export function conversionOf(
  { conversion, name }: Definition,
  sender: (clientConfig: JsonObject, name: string) => ReviewSender,
  { clock, observe }: Pick<WebhookConversionOptions, 'clock' | 'observe'>,
): Conversion {
  if (stringAt(conversion, 'strategy') !== 'Webhook') return noConversion;
  const webhook = objectAt(conversion, 'webhook') ?? {};
  return new WebhookConversion({
    reviewVersions: stringsOf(webhook['conversionReviewVersions']),
    sender: sender(objectAt(webhook, 'clientConfig') ?? {}, name),
    name,
    clock,
    ...(observe === undefined ? {} : { observe }),
  });
}

/** Strategy Webhook: a service converts objects, many in one review. Of metadata, it can change only labels and annotations. */
export class WebhookConversion implements Conversion {
  readonly remote = true;
  readonly sender: ReviewSender;
  /** Outcomes by wanted version and object, kept until the waiting step runs again; it adds its context to an error. */
  private readonly outcomes = new LruCache<string, Outcome>({
    capacity: MAX_KEPT_BYTES,
    weigh: (key, { bytes }) => ENTRY_BYTES + 2 * key.length + bytes,
  });

  constructor(private readonly options: WebhookConversionOptions) {
    this.sender = options.sender;
    watchCache('conversions', this.outcomes);
  }

  convert(object: KubeObject, groupVersion: string): KubeObject {
    if (object.apiVersion === groupVersion) return object;
    // An empty object needs no webhook.
    if (Object.keys(object).every((key) => key === 'apiVersion' || key === 'kind'))
      return { ...object, apiVersion: groupVersion };
    const key = boundedKey(`${groupVersion}\n${stringifyJson(object)}`);
    const known = this.outcomes.get(key);
    if (known?.converted !== undefined) return known.converted;
    if (known?.failed !== undefined) {
      this.outcomes.delete(key);
      throw known.failed;
    }
    throw new ConversionPending(async () => {
      try {
        const [converted] = await this.convertAll([object], groupVersion);
        if (converted !== undefined) this.outcomes.set(key, { converted, bytes: 2 * stringifyJson(converted).length });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        // If the step does not run again, the entry stays until it is evicted.
        this.outcomes.set(key, { failed: error, bytes: 2 * error.message.length });
      }
    });
  }

  async convertAll(objects: readonly KubeObject[], groupVersion: string): Promise<KubeObject[]> {
    const converted: KubeObject[] = [];
    for (const batch of batches(objects)) converted.push(...(await this.convertBatch(batch, groupVersion)));
    return converted;
  }

  private async convertBatch(batch: Batch, groupVersion: string): Promise<KubeObject[]> {
    const { name, clock, observe = observeConversion } = this.options;
    const begun = clock.monotonic();
    const from = parseGroupVersion(batch.objects[0]?.apiVersion ?? '')?.version ?? '';
    const to = parseGroupVersion(groupVersion)?.version ?? '';
    const ended = (failure?: ConversionFailure): void =>
      observe({ definition: name, from, to, seconds: (clock.monotonic() - begun) / 1000, failure });
    let step: ConversionFailure = 'conversion_webhook_call_failure';
    try {
      const converted = await this.review(batch, groupVersion, (next) => (step = next));
      ended();
      return converted;
    } catch (error) {
      ended(step);
      throw error;
    }
  }

  /** Sends one review. `onStep` is called with each step as it begins, named by the failure it would be. */
  private async review(
    batch: Batch,
    groupVersion: string,
    onStep: (step: ConversionFailure) => void,
  ): Promise<KubeObject[]> {
    const version = this.options.reviewVersions.find((candidate) => REVIEW_VERSIONS.includes(candidate));
    if (version === undefined) throw failure('no supported conversion review versions');
    const subject = `conversion webhook for ${printedKind(batch.objects[0] ?? {})}`;
    const uid = randomUUID();
    let answers: readonly unknown[];
    try {
      const body = `{"kind":"ConversionReview","apiVersion":"${GROUP}/${version}","request":{"uid":"${uid}","desiredAPIVersion":${JSON.stringify(groupVersion)},"objects":[${batch.texts.join(',')}]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}`;
      const answer = await this.sender.send(body);
      onStep('conversion_webhook_malformed_response_failure');
      answers = readReview(answer, version, uid);
    } catch (error) {
      throw failure(`${subject} failed: ${messageOf(error)}`);
    }
    onStep('conversion_webhook_partial_response_failure');
    if (answers.length !== batch.objects.length) {
      throw failure(`${subject} returned ${answers.length} objects, expected ${batch.objects.length}`);
    }
    onStep('conversion_webhook_invalid_converted_object_failure');
    return batch.objects.map((original, i) => readConverted(original, answers[i], groupVersion, i));
  }
}

interface Outcome {
  readonly converted?: KubeObject;
  readonly failed?: ApiError;
  readonly bytes: number;
}

interface Batch {
  readonly objects: KubeObject[];
  readonly texts: string[];
}

function* batches(objects: readonly KubeObject[]): Iterable<Batch> {
  let batch: Batch = { objects: [], texts: [] };
  let characters = 0;
  for (const object of objects) {
    const text = stringifyJson(object);
    if (
      batch.objects.length > 0 &&
      (batch.objects.length >= MAX_OBJECTS || characters + text.length > MAX_CHARACTERS)
    ) {
      yield batch;
      batch = { objects: [], texts: [] };
      characters = 0;
    }
    batch.objects.push(object);
    batch.texts.push(text);
    characters += text.length;
  }
  if (batch.objects.length > 0) yield batch;
}

/** Returns a 500: a failed conversion is not the client's fault. */
const failure = (message: string): ApiError =>
  new ApiError(
    500,
    '',
    message.length <= MAX_FAILURE_CHARACTERS ? message : `${message.slice(0, MAX_FAILURE_CHARACTERS)}...`,
  );

/** Returns the converted objects of a response. In v1beta1 a response need not name its kind or the request. */
function readReview(body: string, version: string, uid: string): readonly unknown[] {
  const review = parseJson(body);
  if (!isObject(review))
    throw new Error(`couldn't get version/kind; json parse error: ${goJson(review)} is not an object`);
  if (version === 'v1') {
    const kind = printedKind(review);
    const expected = `${GROUP}/v1, Kind=ConversionReview`;
    if (kind !== expected && stringAt(review, 'kind') !== undefined && stringAt(review, 'apiVersion') !== undefined)
      throw new Error(kindNotRegistered(textAt(review, 'apiVersion'), textAt(review, 'kind')));
    if (kind !== expected) throw new Error(`expected webhook response of ${expected}, got ${kind}`);
  }
  const response = objectAt(review, 'response');
  if (response === undefined) throw new Error('no response provided');
  const answered = textAt(response, 'uid');
  if (version === 'v1' && answered !== uid) {
    throw new Error(`expected response.uid=${quote(uid)}, got ${quote(answered)}`);
  }
  const result = objectAt(response, 'result');
  const status = textAt(result, 'status');
  if (status !== 'Success') {
    const message = textAt(result, 'message');
    throw new Error(message === '' ? `response.result.status was '${status}', not 'Success'` : message);
  }
  const objects = response['convertedObjects'];
  return Array.isArray(objects) ? objects : [];
}

function readConverted(original: KubeObject, answer: unknown, groupVersion: string, index: number): KubeObject {
  const subject = `conversion webhook for ${printedKind(original)}`;
  const converted = answer as JsonObject | null;
  if (!isObject(converted) || textAt(converted, 'kind') === '') {
    throw failure(`Object 'Kind' is missing in '${goJson(converted ?? null)}'`);
  }
  const invalid = (why: string): ApiError => failure(`${subject} returned invalid object at index ${index}: ${why}`);
  const version = textAt(converted, 'apiVersion');
  if (version !== groupVersion) {
    throw invalid(`invalid groupVersion (expected ${groupVersion}, received ${version})`);
  }
  const kind = textAt(converted, 'kind');
  if (kind !== original.kind) throw invalid(`invalid kind (expected ${original.kind ?? ''}, received ${kind})`);
  try {
    checkIdentity(original, converted);
  } catch (error) {
    throw failure(`${subject} returned invalid object: ${messageOf(error)}`);
  }
  try {
    return { ...converted, metadata: restoredMetadata(original, converted) };
  } catch (error) {
    throw failure(`${subject} returned invalid metadata: ${messageOf(error)}`);
  }
}
