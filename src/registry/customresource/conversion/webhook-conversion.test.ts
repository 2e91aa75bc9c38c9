import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { ConversionPending } from '../../../managedfields/interfaces.js';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { cacheBytes } from '../../../../test/fakes/util/cache-bytes.js';
import { metricsRegistry } from '../../../util/metrics/metrics.js';
import { WebhookConversion } from './webhook-conversion.js';

interface Review {
  apiVersion: string;
  request: { uid: string; desiredAPIVersion: string; objects: KubeObject[] };
}

type Answer = (review: Review) => unknown;

const widget = (name: string, apiVersion = 'example.com/v1'): KubeObject => ({
  apiVersion,
  kind: 'Widget',
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, labels: { a: '1' }, resourceVersion: '7' },
});

const success = (review: Review, change: (object: KubeObject) => unknown): unknown => ({
  kind: 'ConversionReview',
  apiVersion: review.apiVersion,
  response: {
    uid: review.request.uid,
    result: { status: 'Success' },
    convertedObjects: review.request.objects.map((object) =>
      change({ ...object, apiVersion: review.request.desiredAPIVersion }),
    ),
  },
});

function conversion(
  answer: Answer,
  reviewVersions: readonly string[] = ['v1'],
): { conversion: WebhookConversion; reviews: Review[] } {
  const reviews: Review[] = [];
  const send = (text: string): Promise<string> => {
    const review = JSON.parse(text) as Review;
    reviews.push(review);
    return Promise.resolve(JSON.stringify(answer(review)));
  };
  return {
    conversion: new WebhookConversion({
      reviewVersions,
      sender: { send },
      name: 'widgets.example.com',
      clock: new FakeClock(),
    }),
    reviews,
  };
}

test('one review converts many objects, whose metadata is kept except labels and annotations', async () => {
  const { conversion: webhook, reviews } = conversion((review) =>
    success(review, (object) => ({
      ...object,
      spec: { moved: true },
      metadata: { ...object.metadata, labels: { b: '2' }, finalizers: ['mine'], resourceVersion: '1' },
    })),
  );
  const converted = await webhook.convertAll([widget('x'), widget('y')], 'example.com/v2');
  expect(reviews.map(({ request }) => request.objects.length)).toEqual([2]);
  expect(converted[1]).toEqual({
    apiVersion: 'example.com/v2',
    kind: 'Widget',
    spec: { moved: true },
    metadata: { name: 'y', namespace: 'ns', uid: 'uid-y', labels: { b: '2' }, resourceVersion: '7' },
  });
});

test('many or large objects are split into several reviews, in order', async () => {
  const { conversion: webhook, reviews } = conversion((review) => success(review, (object) => object));
  const objects = Array.from({ length: 250 }, (_, i) => widget(`w-${String(i)}`));
  const large = { ...widget('large'), data: 'x'.repeat(1 << 20) };
  const converted = await webhook.convertAll([...objects, large, widget('last')], 'example.com/v2');
  expect(reviews.map(({ request }) => request.objects.length)).toEqual([200, 50, 1, 1]);
  expect(converted.map(({ metadata }) => metadata.name)).toEqual([
    ...objects.map(({ metadata }) => metadata.name),
    'large',
    'last',
  ]);
});

test('uses the first supported review version', async () => {
  const { conversion: webhook, reviews } = conversion(
    (review) => success(review, (object) => object),
    ['v7', 'v1beta1', 'v1'],
  );
  await webhook.convertAll([widget('x')], 'example.com/v2');
  expect(reviews.map(({ apiVersion }) => apiVersion)).toEqual(['apiextensions.k8s.io/v1beta1']);
});

const SUBJECT = 'conversion webhook for example.com/v1, Kind=Widget';

test.each<[string, Answer, string]>([
  [
    'no response',
    (review) => ({ kind: 'ConversionReview', apiVersion: review.apiVersion }),
    `${SUBJECT} failed: no response provided`,
  ],
  [
    'another kind',
    () => ({ kind: 'Pod', apiVersion: 'v1' }),
    `${SUBJECT} failed: no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"`,
  ],
  [
    'no kind',
    () => ({}),
    `${SUBJECT} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=`,
  ],
  [
    'a failure with a message',
    (review) => ({
      kind: 'ConversionReview',
      apiVersion: review.apiVersion,
      response: { uid: review.request.uid, result: { status: 'Failure', message: 'not today' } },
    }),
    `${SUBJECT} failed: not today`,
  ],
  [
    'no objects',
    (review) => ({
      kind: 'ConversionReview',
      apiVersion: review.apiVersion,
      response: { uid: review.request.uid, result: { status: 'Success' } },
    }),
    `${SUBJECT} returned 0 objects, expected 1`,
  ],
  [
    'the version as it was',
    (review) => success(review, (object) => ({ ...object, apiVersion: 'example.com/v1' })),
    `${SUBJECT} returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)`,
  ],
  [
    'another uid',
    (review) => success(review, (object) => ({ ...object, metadata: { ...object.metadata, uid: 'z' } })),
    `${SUBJECT} returned invalid object: must have the same UID: uid-x != z`,
  ],
  [
    'a label that is not a string',
    (review) => success(review, (object) => ({ ...object, metadata: { ...object.metadata, labels: { a: 1 } } })),
    `${SUBJECT} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object`,
  ],
])('refused: %s', async (_name, answer, message) => {
  const { conversion: webhook } = conversion(answer);
  await expect(webhook.convertAll([widget('x')], 'example.com/v2')).rejects.toMatchObject({ code: 500, message });
});

test('a synchronous conversion throws ConversionPending, and succeeds once it is ready', async () => {
  const { conversion: webhook, reviews } = conversion((review) => success(review, (object) => object));
  let pending: unknown;
  try {
    webhook.convert(widget('x'), 'example.com/v2');
  } catch (error) {
    pending = error;
  }
  expect(pending).toBeInstanceOf(ConversionPending);
  await (pending as ConversionPending).ready();
  expect(webhook.convert(widget('x'), 'example.com/v2').apiVersion).toBe('example.com/v2');
  expect(reviews).toHaveLength(1);
});

test('requests and their failures are counted', async () => {
  const failing = [
    conversion(() => 'no review').conversion,
    conversion((review) => success(review, (object) => ({ ...object, kind: 'Other' }))).conversion,
    conversion((review) => {
      const answer = success(review, (object) => object) as { response: { convertedObjects: unknown[] } };
      answer.response.convertedObjects = [];
      return answer;
    }).conversion,
  ];
  for (const webhook of failing) {
    await expect(webhook.convertAll([widget('x')], 'example.com/v3')).rejects.toThrow();
  }
  await conversion((review) => success(review, (object) => object)).conversion.convertAll(
    [widget('x')],
    'example.com/v3',
  );
  const text = await metricsRegistry.metrics();
  for (const kind of ['malformed_response', 'invalid_converted_object', 'partial_response']) {
    const labels = `result="failure",failure_type="conversion_webhook_${kind}_failure"`;
    expect(text).toMatch(new RegExp(`apiserver_conversion_webhook_request_total\\{${labels}\\} [1-9]`));
  }
  expect(text).toContain(
    'apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="widgets.example.com",from_version="v1",to_version="v3",succeeded="false"} 3',
  );
  expect(text).toContain('from_version="v1",to_version="v3",succeeded="true"} 1');
});

test('an object without content is not sent', () => {
  const { conversion: webhook, reviews } = conversion(() => undefined);
  const empty = { apiVersion: 'example.com/v1', kind: 'Widget' } as KubeObject;
  expect(webhook.convert(empty, 'example.com/v2')).toEqual({ ...empty, apiVersion: 'example.com/v2' });
  expect(reviews).toEqual([]);
});

test('a synchronous conversion throws the failure once it is ready', async () => {
  const { conversion: webhook } = conversion((review) => success(review, (object) => object));
  const bare = { apiVersion: 'example.com/v1', kind: 'Widget', spec: {} } as unknown as KubeObject;
  const pending = attempt(() => webhook.convert(bare, 'example.com/v2'));
  await (pending as ConversionPending).ready();
  expect(attempt(() => webhook.convert(bare, 'example.com/v2'))).toMatchObject({
    message:
      'conversion webhook for example.com/v1, Kind=Widget returned invalid metadata: missing metadata in converted object',
  });
  expect(attempt(() => webhook.convert(bare, 'example.com/v2'))).toBeInstanceOf(ConversionPending);
});

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

describe('what is kept for steps that run again is bounded by bytes', () => {
  const MIB = 1 << 20;
  const prepare = async (webhook: WebhookConversion, object: KubeObject): Promise<void> => {
    const pending = attempt(() => webhook.convert(object, 'example.com/v2'));
    await (pending as ConversionPending).ready();
  };

  test('small objects with large answers', async () => {
    const { conversion: webhook } = conversion((review) =>
      success(review, (object) => ({ ...object, spec: 'x'.repeat(MIB) })),
    );
    const before = (await cacheBytes('conversions')) ?? 0;
    for (let i = 0; i < 40; i++) await prepare(webhook, widget(`w${String(i)}`));
    const kept = ((await cacheBytes('conversions')) ?? NaN) - before;
    expect(kept).toBeGreaterThan(2 * MIB);
    expect(kept).toBeLessThanOrEqual(16 * MIB);
    expect(webhook.convert(widget('w39'), 'example.com/v2').apiVersion).toBe('example.com/v2');
  });

  test('failures of large objects, and those that quote large answers', async () => {
    const { conversion: webhook } = conversion((review) => success(review, () => ({ spec: 'x'.repeat(MIB) })));
    const before = (await cacheBytes('conversions')) ?? 0;
    for (let i = 0; i < 100; i++) await prepare(webhook, { ...widget(`w${String(i)}`), spec: 'y'.repeat(MIB / 8) });
    expect(((await cacheBytes('conversions')) ?? NaN) - before).toBeLessThan(8 * MIB);
    const failed = attempt(() => webhook.convert({ ...widget('w99'), spec: 'y'.repeat(MIB / 8) }, 'example.com/v2'));
    expect((failed as Error).message.length).toBeLessThan(MIB / 32);
  });
});
