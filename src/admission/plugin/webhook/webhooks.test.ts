import { Registry } from 'prom-client';
import { ResponseError, type WebhookResponse } from '../../../client/webhook/connection.js';
import { ApiError } from '../../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { fakeAttributes } from '../../../../test/fakes/admission/attributes.js';
import { matchConditionsMetrics } from '../../cel/metrics.js';
import { admissionChain } from '../../chain.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../interfaces.js';
import type { ConfigurationSource } from '../../sources.js';
import { WebhookMetrics } from './metrics.js';
import { mutatingWebhooks } from './mutating.js';
import { validatingWebhooks } from './validating.js';

interface Review extends JsonObject {
  request: { uid: string; object: KubeObject | null; oldObject: KubeObject | null; kind: JsonObject };
}

/** Returns the response of a webhook, or throws. */
type Answer = (review: Review) => JsonObject | Promise<JsonObject>;

const allow: Answer = () => ({ allowed: true });
const patches = (...patch: JsonObject[]): JsonObject => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
});
const adds = (path: string, value: JsonObject[string]): JsonObject =>
  patches({ op: 'add', path, value: value ?? null });

/** A source whose configurations the test sets. */
class FakeSource implements ConfigurationSource {
  generation = 0;
  private all: readonly KubeObject[] = [];
  constructor(
    webhooks: readonly JsonObject[],
    private readonly isSynced = true,
  ) {
    this.set([{ metadata: { name: 'conf' }, webhooks: [...webhooks] }]);
  }
  set(all: readonly KubeObject[]): void {
    this.all = all;
    this.generation++;
  }
  objects(): readonly KubeObject[] {
    return this.all;
  }
  synced(): boolean {
    return this.isSynced;
  }
  whenSynced(): Promise<void> {
    return this.isSynced ? Promise.resolve() : new Promise(() => undefined);
  }
  subscribe(): () => void {
    return () => undefined;
  }
}

const hook = (name: string, more: JsonObject = {}): JsonObject => ({
  name: `${name}.example.com`,
  clientConfig: { url: `https://hooks/${name}` },
  rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  ...more,
});

function world(
  type: 'mutating' | 'validating',
  hooks: readonly JsonObject[],
  answers: Record<string, Answer>,
  ofFiles: readonly JsonObject[] = [],
) {
  const clock = new FakeClock();
  const registry = new Registry();
  const calls: { readonly name: string; readonly review: Review; readonly seconds: number }[] = [];
  const failures: string[] = [];
  const source = new FakeSource(hooks);
  const files = new FakeSource(ofFiles);
  const post = async (config: JsonObject, body: string, seconds: number): Promise<WebhookResponse> => {
    const name = (config['url'] as string).split('/').at(-1) ?? '';
    const review = JSON.parse(body) as Review;
    calls.push({ name, review, seconds });
    const response = await (answers[name] ?? allow)(review);
    const { apiVersion } = review;
    const answer = { apiVersion, kind: 'AdmissionReview', response: { uid: review.request.uid, ...response } };
    return { status: 200, body: JSON.stringify(answer), contentType: 'application/json', retryAfter: false };
  };
  const dependencies = {
    poster: { post },
    namespaces: { get: () => undefined, cached: () => undefined },
    authorizer: { authorize: () => ({ decision: 'allow' as const, reason: '' }) },
    clock,
    metrics: new WebhookMetrics(registry),
    conditions: matchConditionsMetrics(clock, registry),
    onFailure: (name: string) => failures.push(name),
  };
  const plugin =
    type === 'mutating'
      ? mutatingWebhooks(source, dependencies, files)
      : validatingWebhooks(source, dependencies, files);
  return { plugin, calls, failures, source, registry, clock };
}

const configMap = (data: JsonObject = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'ns', labels: { x: 'y' } },
  data,
});

function request(given: Partial<AdmissionAttributes> = {}) {
  const annotations: [string, string, string | undefined][] = [];
  const warnings: string[] = [];
  const attributes = fakeAttributes({
    name: 'a',
    object: configMap(),
    annotate: (key, value, level) => annotations.push([key, value, level]),
    warn: (text) => warnings.push(text),
    ...given,
  });
  return { attributes, annotations, warnings };
}

const failure = async (work: Promise<void> | void): Promise<ApiError> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

test('a request that matches no webhook is admitted synchronously', () => {
  for (const type of ['mutating', 'validating'] as const) {
    const { plugin, calls } = world(type, [hook('a')], {});
    const { attributes } = request({ resource: { group: '', version: 'v1', resource: 'secrets' } });
    expect(plugin.admit?.(attributes)).toBeUndefined();
    expect(plugin.validate?.(attributes)).toBeUndefined();
    expect(plugin.readsObjects?.({ group: '', resource: 'secrets' })).toBe(false);
    expect(plugin.readsObjects?.({ group: '', resource: 'configmaps' })).toBe(true);
    expect(calls).toEqual([]);
  }
});

describe('webhook configurations', () => {
  const all = { rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] };
  const { attributes } = request({
    resource: { group: 'admissionregistration.k8s.io', version: 'v1', resource: 'mutatingwebhookconfigurations' },
    kind: { group: 'admissionregistration.k8s.io', version: 'v1', kind: 'MutatingWebhookConfiguration' },
  });

  test('are exempt from webhooks of the API', () => {
    const { plugin } = world('validating', [hook('a', all)], {});
    expect(plugin.validate?.(attributes)).toBeUndefined();
  });

  test('are not exempt from webhooks from files', async () => {
    const { plugin, calls } = world('validating', [hook('a', all)], {}, [hook('file', all)]);
    await plugin.validate?.(attributes);
    expect(calls.map(({ name }) => name)).toEqual(['file']);
  });
});

test('webhooks from files come first', async () => {
  const { plugin, calls } = world('mutating', [hook('a')], {}, [hook('z')]);
  const { attributes, annotations } = request();
  await plugin.admit?.(attributes);
  expect(calls.map(({ name }) => name)).toEqual(['z', 'a']);
  expect(annotations.map(([key]) => key)).toEqual([
    'mutation.webhook.admission.k8s.io/round_0_index_0',
    'mutation.webhook.admission.k8s.io/round_0_index_1',
  ]);
});

describe('mutating webhooks', () => {
  test('run in order, each on the result of the previous one, and annotate their changes', async () => {
    const { plugin, calls } = world('mutating', [hook('a'), hook('b')], {
      a: () => ({ ...adds('/data/a', '1'), warnings: ['careful'], auditAnnotations: { k: 'v', 'bad/key': 'x' } }),
    });
    const { attributes, annotations, warnings } = request();
    await plugin.admit?.(attributes);
    expect(attributes.object?.['data']).toEqual({ a: '1' });
    expect(calls.map(({ name, review }) => [name, review.request.object?.['data']])).toEqual([
      ['a', {}],
      ['b', { a: '1' }],
    ]);
    expect(warnings).toEqual(['careful']);
    expect(annotations).toEqual([
      ['a.example.com/k', 'v', undefined],
      [
        'patch.webhook.admission.k8s.io/round_0_index_0',
        '{"configuration":"conf","webhook":"a.example.com","patch":[{"op":"add","path":"/data/a","value":"1"}],"patchType":"JSONPatch"}',
        'Request',
      ],
      [
        'mutation.webhook.admission.k8s.io/round_0_index_0',
        '{"configuration":"conf","webhook":"a.example.com","mutated":true}',
        undefined,
      ],
      [
        'mutation.webhook.admission.k8s.io/round_0_index_1',
        '{"configuration":"conf","webhook":"b.example.com","mutated":false}',
        undefined,
      ],
    ]);
  });

  test('webhooks with reinvocationPolicy IfNeeded are called again after a later change, once', async () => {
    const reinvoked = { reinvocationPolicy: 'IfNeeded' };
    const { plugin, calls } = world('mutating', [hook('a', reinvoked), hook('b'), hook('c', reinvoked)], {
      c: ({ request: { object } }) =>
        adds('/data/n', `${((object?.['data'] as JsonObject)['n'] as string | undefined) ?? ''}x`),
    });
    const other: AdmissionPlugin = { name: 'Other', handles: () => true, admit: () => undefined };
    const { attributes } = request();
    await admissionChain([other, plugin]).admit(attributes);
    expect(calls.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'a']);
    expect(attributes.object?.['data']).toEqual({ n: 'x' });
  });

  test('a plugin that changes the object in the second pass causes their reinvocation', async () => {
    const reinvoked = { reinvocationPolicy: 'IfNeeded' };
    const { plugin, calls } = world('mutating', [hook('a', reinvoked)], {});
    let passes = 0;
    const other: AdmissionPlugin = {
      name: 'Other',
      handles: () => true,
      admit: ({ object }, reinvocation) => {
        if (passes++ === 1 && object !== undefined) object['data'] = { changed: 'yes' };
        else reinvocation?.request();
      },
    };
    await admissionChain([other, plugin]).admit(request().attributes);
    expect(calls.map(({ review }) => review.request.object?.['data'])).toEqual([{}, { changed: 'yes' }]);
  });

  test('get the version of the matching rule, and the result is converted back', async () => {
    const v2 = { group: '', version: 'v2', kind: 'ConfigMap' };
    const { plugin, calls } = world(
      'mutating',
      [
        hook('a', { rules: [{ apiGroups: [''], apiVersions: ['v2'], operations: ['*'], resources: ['configmaps'] }] }),
        hook('b'),
      ],
      { a: () => adds('/data/a', '1') },
    );
    const relabel = (object: KubeObject, kind: { version: string }): KubeObject => ({
      ...object,
      apiVersion: kind.version,
    });
    const exchanged = jest.fn();
    const { attributes } = request({
      versions: {
        equivalents: [{ resource: { group: '', version: 'v2', resource: 'configmaps' }, kind: v2 }],
        convert: relabel,
        complete: (changed) => changed as KubeObject,
        onContentsReplaced: exchanged,
        mergeType: () => undefined,
      },
    });
    await plugin.admit?.(attributes);
    expect(calls.map(({ review }) => [review.request.kind, review.request.object?.apiVersion])).toEqual([
      [{ group: '', version: 'v2', kind: 'ConfigMap' }, 'v2'],
      [{ group: '', version: 'v1', kind: 'ConfigMap' }, 'v1'],
    ]);
    expect(attributes.object).toMatchObject({ apiVersion: 'v1', data: { a: '1' } });
    expect(exchanged).toHaveBeenCalledWith(attributes.object);
  });

  test('a webhook that cannot be called is ignored or fails the request, by its failure policy', async () => {
    const away = (): never => {
      throw new ResponseError('Post "https://hooks": EOF');
    };
    const open = world('mutating', [hook('a', { failurePolicy: 'Ignore' }), hook('b')], { a: away });
    const { attributes, annotations } = request();
    await open.plugin.admit?.(attributes);
    expect(open.calls.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(open.failures).toEqual(['a.example.com']);
    expect(annotations).toContainEqual([
      'failed-open.mutation.webhook.admission.k8s.io/round_0_index_0',
      'a.example.com',
      undefined,
    ]);
    expect(await open.registry.metrics()).toContain(
      'apiserver_admission_webhook_fail_open_count{name="a.example.com",type="admit"} 1',
    );
    const closed = world('mutating', [hook('a')], { a: away });
    expect(await failure(closed.plugin.admit?.(request().attributes))).toMatchObject({
      code: 500,
      message:
        'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: Post "https://hooks": EOF',
    });
    expect(await closed.registry.metrics()).toContain(
      'apiserver_admission_webhook_rejection_count{name="a.example.com",type="admit",operation="CREATE",error_type="calling_webhook_error",rejection_code="503"} 1',
    );
  });

  test('have at most the remaining time of the request as their timeout', async () => {
    const slow = world(
      'mutating',
      [hook('a', { timeoutSeconds: 20 }), hook('b', { timeoutSeconds: 5 }), hook('c')],
      {},
    );
    const { clock } = slow;
    await slow.plugin.admit?.(request({ deadline: clock.monotonic() + 8_500 }).attributes);
    await slow.plugin.admit?.(request({ deadline: clock.monotonic() - 1 }).attributes);
    await slow.plugin.admit?.(request().attributes);
    expect(slow.calls.map(({ seconds }) => seconds)).toEqual([9, 5, 9, 1, 1, 1, 20, 5, 10]);
  });

  test('a webhook with side effects is not called in a dry run', async () => {
    const { plugin, calls } = world('mutating', [hook('a', { sideEffects: 'Some' })], {});
    expect(await failure(plugin.admit?.(request({ dryRun: true }).attributes))).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: 'admission webhook "a.example.com" does not support dry run',
    });
    expect(calls).toEqual([]);
  });
});

describe('validating webhooks', () => {
  test('are called concurrently, and the first denial is returned', async () => {
    let release = (): void => undefined;
    const last = new Promise<void>((resolve) => (release = resolve));
    const { plugin, calls } = world('validating', [hook('slow'), hook('fast'), hook('fine')], {
      slow: async () => {
        await last;
        return { allowed: false, status: { message: 'slow says no' } };
      },
      fast: () => ({ allowed: false, status: { message: 'no', code: 403, reason: 'Forbidden' } }),
    });
    const answered = failure(plugin.validate?.(request().attributes));
    await new Promise(setImmediate);
    expect(calls.map(({ name }) => name)).toEqual(['slow', 'fast', 'fine']);
    release();
    expect(await answered).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: 'admission webhook "fast.example.com" denied the request: no',
    });
  });

  test('two hundred calls without a response do not delay other requests', async () => {
    const { plugin, calls } = world('validating', [hook('a')], { a: () => new Promise(() => undefined) });
    for (let i = 0; i < 200; i++) void plugin.validate?.(request().attributes);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(calls).toHaveLength(200);
    const other = request({ resource: { group: '', version: 'v1', resource: 'secrets' } });
    expect(plugin.validate?.(other.attributes)).toBeUndefined();
  });

  test('match conditions apply, with the variables of the request', async () => {
    const conditions = (expression: string): JsonObject => ({ matchConditions: [{ name: 'c', expression }] });
    const { plugin, calls, registry } = world(
      'validating',
      [
        hook('yes', conditions('object.metadata.name == "a" && request.operation == "CREATE"')),
        hook('no', conditions('has(object.data.x)')),
        hook('allowed', conditions('authorizer.group("").resource("pods").check("get").allowed()')),
      ],
      {},
    );
    await plugin.validate?.(request().attributes);
    expect(calls.map(({ name }) => name)).toEqual(['yes', 'allowed']);
    expect(await registry.metrics()).toContain(
      'apiserver_admission_match_condition_exclusions_total{name="no.example.com",kind="webhook",type="validate",operation="CREATE"} 1',
    );
  });

  test('a changed configuration is compiled again, and unchanged webhooks are not called twice', async () => {
    const { plugin, calls, source } = world('validating', [hook('a')], {});
    await plugin.validate?.(request().attributes);
    source.set([...source.objects(), { metadata: { name: 'more' }, webhooks: [hook('b')] }]);
    await plugin.validate?.(request().attributes);
    expect(calls.map(({ name }) => name)).toEqual(['a', 'a', 'b']);
  });
});

test('requests wait for the configurations to be listed, and are refused after a limit', async () => {
  const { clock, calls } = world('validating', [], {});
  const source = new FakeSource([hook('a')], false);
  const { attributes } = request();
  const plugin = validatingWebhooks(source, {
    poster: { post: () => Promise.reject(new Error('not to be called')) },
    namespaces: { get: () => undefined, cached: () => undefined },
    authorizer: { authorize: () => ({ decision: 'allow' as const, reason: '' }) },
    clock,
    metrics: new WebhookMetrics(new Registry()),
    conditions: matchConditionsMetrics(clock, new Registry()),
    onFailure: () => undefined,
  });
  const refused = failure(plugin.validate?.(attributes));
  clock.advance(10_000);
  expect(await refused).toMatchObject({
    code: 403,
    message: 'configmaps "a" is forbidden: not yet ready to handle request',
  });
  expect(calls).toEqual([]);
});
