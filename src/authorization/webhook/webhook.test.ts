import type { Cancellation } from '../../util/cancellation.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { noMetrics } from '../../../test/fakes/authorization/metrics.js';
import type { AuthorizationMetrics } from '../authorizer/instrumentation.js';
import type { AuthorizationResult, AuthorizerAttributes } from '../authorizer/interfaces.js';
import { ResponseError, type WebhookResponse, type WebhookTransport } from '../../client/webhook/connection.js';
import { MatchConditions } from './match-conditions.js';
import { WebhookAuthorizer, type WebhookOptions } from './webhook-authorizer.js';

const attributes = (more: Partial<AuthorizerAttributes> = {}): AuthorizerAttributes => ({
  user: { name: 'u', uid: '7', groups: ['g'], extra: { k: ['v'] } },
  verb: 'list',
  resourceRequest: true,
  namespace: 'ns',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  name: '',
  path: '',
  ...more,
});

const review = (status: JsonObject, version = 'v1'): WebhookResponse => ({
  status: 200,
  contentType: '',
  retryAfter: false,
  body: JSON.stringify({
    apiVersion: `authorization.k8s.io/${version}`,
    kind: 'SubjectAccessReview',
    spec: { user: 'ignored' },
    status,
  }),
});

class Bed {
  readonly clock = new FakeClock();
  readonly sent: JsonObject[] = [];
  readonly counted: string[] = [];
  /** The responses, in order; the last one is repeated. */
  answers: (WebhookResponse | Error)[] = [];
  readonly metrics: AuthorizationMetrics = {
    ...noMetrics,
    webhookEvaluation: (name, outcome) => this.counted.push(`${name} ${outcome}`),
    webhookFailOpen: (name, outcome) => this.counted.push(`${name} open ${outcome}`),
    matchConditionExclusion: (name) => this.counted.push(`${name} excluded`),
    matchConditionError: (name) => this.counted.push(`${name} condition error`),
  };

  readonly transport: WebhookTransport = {
    post: (body) => {
      this.sent.push(JSON.parse(body) as JsonObject);
      const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer!);
    },
  };

  authorizer(more: Partial<WebhookOptions> = {}, ...conditions: (() => boolean)[]): WebhookAuthorizer {
    return new WebhookAuthorizer(
      {
        name: 'w',
        version: 'v1',
        authorizedTtl: 300_000,
        unauthorizedTtl: 30_000,
        timeout: 1_000,
        onError: 'no-opinion',
        matchConditions: new MatchConditions('w', conditions, this.metrics, this.clock),
        ...more,
      },
      {
        clock: this.clock,
        metrics: this.metrics,
        random: () => 0,
        transport: this.transport,
      },
    );
  }

  /** Waits for the decision while the clock advances. */
  async ask(
    authorizer: WebhookAuthorizer,
    question = attributes(),
    signal = new AbortController().signal,
  ): Promise<AuthorizationResult> {
    const state: { result?: AuthorizationResult } = {};
    const asked = Promise.resolve(authorizer.authorize(question, signal)).then((result) => (state.result = result));
    while (state.result === undefined) {
      await new Promise(setImmediate);
      this.clock.advance(100);
    }
    return asked;
  }
}

describe('answers', () => {
  const error = (text: string): AuthorizationResult => ({ decision: 'no-opinion', reason: '', error: text });
  const http = (status: number, body = '', contentType = ''): WebhookResponse => ({
    status,
    body,
    contentType,
    retryAfter: false,
  });
  const field = (kind: string, name: string, type: string): string =>
    `json: cannot unmarshal ${kind} into Go struct field SubjectAccessReview${name} of type ${type}`;
  const noObject = (kind: string): string =>
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${kind} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
  const said = '"status":"Failure","message":"no way","reason":"Forbidden","code":403';
  const cases: readonly (readonly [string, WebhookResponse | Error, AuthorizationResult])[] = [
    ['allowed', review({ allowed: true, reason: 'r' }), { decision: 'allow', reason: 'r' }],
    ['no opinion', review({ allowed: false, reason: 'r' }), { decision: 'no-opinion', reason: 'r' }],
    ['denied', review({ allowed: false, denied: true, reason: 'r' }), { decision: 'deny', reason: 'r' }],
    [
      'both',
      review({ allowed: true, denied: true }),
      { decision: 'deny', reason: '', error: 'webhook subject access review returned both allow and deny response' },
    ],
    ['no status', review({}), { decision: 'no-opinion', reason: '' }],
    [
      'other version',
      review({ allowed: true }, 'v1beta1'),
      error('converting (v1beta1.SubjectAccessReview) to (v1.SubjectAccessReview): unknown conversion'),
    ],
    [
      'unknown version',
      review({ allowed: true }, 'v7'),
      error(
        'no kind "SubjectAccessReview" is registered for version "authorization.k8s.io/v7" in scheme "pkg/runtime/scheme.go:111"',
      ),
    ],
    ['nothing of its kind', http(200, '{"status":{"allowed":true}}'), { decision: 'allow', reason: '' }],
    ['empty', http(200), error('0-length response with status code: 200 and content type: application/json')],
    ['null', http(200, 'null'), { decision: 'no-opinion', reason: '' }],
    ['no object', http(200, '[]'), error(noObject('array'))],
    ['no JSON', http(200, 'html'), error(noObject('string'))],
    ['cut off', http(200, '{'), error("couldn't get version/kind; json parse error: unexpected end of JSON input")],
    ['allowed is no boolean', review({ allowed: 'true' }), error(field('string', 'Status.status.allowed', 'bool'))],
    ['reason is no text', review({ reason: 7 }), error(field('number', 'Status.status.reason', 'string'))],
    [
      'status is no object',
      http(200, '{"status":[]}'),
      error(field('array', '.status', 'v1.SubjectAccessReviewStatus')),
    ],
    ['forbidden', http(403, 'go away'), error('go away')],
    ['forbidden, in JSON', http(403, '{"a":1}', 'application/json'), error('unknown')],
    ['not acceptable', http(406, ' some text \n', 'text/plain; charset=utf-8'), error('some text')],
    ['unsupported', http(415, ' some text \n', 'text/plain; charset=utf-8'), error('some text')],
    ['a Status', http(404, `{"kind":"Status","apiVersion":"v1",${said}}`, 'application/json'), error('no way')],
    [
      'a Status in YAML',
      http(403, 'kind: Status\napiVersion: v1\nstatus: Failure\nmessage: in YAML\n', 'application/yaml'),
      error('in YAML'),
    ],
    // Still an error: the client gets 500 instead of 403.
    ['a Status without a text', http(403, '{"kind":"Status","apiVersion":"v1","status":"Failure"}'), error('')],
    ['not found', http(404), error('the server could not find the requested resource')],
    ['redirect', http(302), error('the server responded with the status code 302 but did not return more information')],
    ['no connection', new ResponseError('Post "https://x": refused'), error('Post "https://x": refused')],
  ];
  test.each(cases)('%s', async (_name, answer, expected) => {
    const bed = new Bed();
    bed.answers = [answer];
    expect(await bed.ask(bed.authorizer())).toEqual(expected);
    expect(bed.sent).toHaveLength(1);
    const failed = expected.error !== undefined && expected.decision !== 'deny';
    expect(bed.counted).toEqual(failed ? ['w error', 'w open error'] : ['w success']);
    const denied = await bed.ask(bed.authorizer({ onError: 'deny' }));
    expect(denied).toEqual(failed ? { ...expected, decision: 'deny' } : expected);
  });
});

describe('requests', () => {
  test('v1 has selectors', async () => {
    const bed = new Bed();
    bed.answers = [review({})];
    await bed.ask(
      bed.authorizer(),
      attributes({
        labelSelector: [{ key: 'a', operator: 'Exists', values: [] }],
        fieldSelector: [{ key: 'f', operator: 'In', values: ['x'] }],
      }),
    );
    expect(bed.sent[0]).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: {},
      spec: {
        user: 'u',
        uid: '7',
        groups: ['g'],
        extra: { k: ['v'] },
        resourceAttributes: {
          namespace: 'ns',
          verb: 'list',
          version: 'v1',
          resource: 'pods',
          fieldSelector: { requirements: [{ key: 'f', operator: 'In', values: ['x'] }] },
          labelSelector: { requirements: [{ key: 'a', operator: 'Exists' }] },
        },
      },
      status: { allowed: false },
    });
  });

  test('v1beta1 names groups `group`; paths are non-resource attributes', async () => {
    const bed = new Bed();
    bed.answers = [review({ allowed: true }, 'v1beta1')];
    const answer = await bed.ask(
      bed.authorizer({ version: 'v1beta1' }),
      attributes({ resourceRequest: false, path: '/x', verb: 'get' }),
    );
    expect(answer.decision).toBe('allow');
    expect(bed.sent[0]).toMatchObject({
      apiVersion: 'authorization.k8s.io/v1beta1',
      spec: { group: ['g'], nonResourceAttributes: { path: '/x', verb: 'get' } },
    });
    expect(bed.sent[0]!['spec']).not.toHaveProperty('groups');
  });
});

describe('cache', () => {
  test('allowed and other decisions are cached for their TTLs, and returned synchronously', async () => {
    const bed = new Bed();
    bed.answers = [review({ allowed: true })];
    const authorizer = bed.authorizer();
    await bed.ask(authorizer);
    bed.clock.advance(299_000);
    expect(authorizer.authorize(attributes(), new AbortController().signal)).toEqual({ decision: 'allow', reason: '' });
    bed.clock.advance(1_000);
    await bed.ask(authorizer);
    expect(bed.sent).toHaveLength(2);
    bed.answers = [review({ denied: true })];
    const other = attributes({ name: 'x' });
    await bed.ask(authorizer, other);
    bed.clock.advance(29_000);
    await bed.ask(authorizer, other);
    expect(bed.sent).toHaveLength(3);
    bed.clock.advance(1_000);
    await bed.ask(authorizer, other);
    expect(bed.sent).toHaveLength(4);
  });

  const uncached: readonly (readonly [string, Partial<WebhookOptions>, AuthorizerAttributes, WebhookResponse])[] = [
    ['a lifetime of 0', { authorizedTtl: 0 }, attributes(), review({ allowed: true })],
    [
      'long questions',
      {},
      attributes({ resourceRequest: false, path: `/${'x'.repeat(10_000)}` }),
      review({ allowed: true }),
    ],
    ['errors', {}, attributes(), { status: 404, body: '', contentType: '', retryAfter: false }],
  ];
  test.each(uncached)('not cached: %s', async (_name, options, question, answer) => {
    const bed = new Bed();
    bed.answers = [answer];
    const authorizer = bed.authorizer(options);
    await bed.ask(authorizer, question);
    await bed.ask(authorizer, question);
    expect(bed.sent).toHaveLength(2);
  });
});

describe('retries', () => {
  test.each([
    [500, '', 'an error on the server ("")'],
    [500, 'text/plain', 'an error on the server ("oops")'],
    [502, '', 'an error on the server ("oops")'],
    [502, 'application/json', 'an error on the server ("unknown")'],
  ])('transient failures are retried, up to five attempts: %d %s', async (status, contentType, why) => {
    const bed = new Bed();
    bed.answers = [{ status, body: why.includes('""') ? '' : ' oops\n', contentType, retryAfter: false }];
    const answer = await bed.ask(bed.authorizer());
    expect(answer.error).toContain(why);
    expect(bed.counted).toEqual([...Array<string>(5).fill('w error'), 'w open error']);
  });
  test('succeeds after a failure', async () => {
    const bed = new Bed();
    bed.answers = [
      { status: 503, body: '', contentType: '', retryAfter: true },
      new ResponseError('reset', { transient: true }),
      review({ allowed: true }),
    ];
    expect((await bed.ask(bed.authorizer())).decision).toBe('allow');
    expect(bed.counted).toEqual(['w error', 'w error', 'w success']);
  });
  test('a timeout is not retried', async () => {
    const bed = new Bed();
    bed.answers = [new ResponseError('slow', { timeout: true })];
    await bed.ask(bed.authorizer());
    expect(bed.counted).toEqual(['w timeout', 'w open timeout']);
  });
  test('end when the client disconnects', async () => {
    const bed = new Bed();
    bed.answers = [{ status: 500, body: '', contentType: '', retryAfter: false }];
    await bed.ask(bed.authorizer(), attributes(), AbortSignal.abort());
    expect(bed.counted).toEqual(['w canceled']);
  });
});

describe('match conditions', () => {
  const yes = (): boolean => true;
  const no = (): boolean => false;
  const broken = (): boolean => {
    throw new Error('no such key');
  };
  const text = 'cel evaluation error: no such key';
  const cases: readonly (readonly [string, readonly (() => boolean)[], AuthorizationResult, readonly string[]])[] = [
    ['all true', [yes, yes], { decision: 'allow', reason: '' }, ['w success']],
    ['one false', [yes, no], { decision: 'no-opinion', reason: '' }, ['w excluded']],
    ['false wins over an error', [broken, no], { decision: 'no-opinion', reason: '' }, ['w excluded']],
    ['an error', [broken, yes], { decision: 'deny', reason: '', error: text }, ['w condition error']],
  ];
  test.each(cases)('%s', async (_name, conditions, expected, counted) => {
    const bed = new Bed();
    bed.answers = [review({ allowed: true })];
    expect(await bed.ask(bed.authorizer({ onError: 'deny' }, ...conditions))).toEqual(expected);
    expect(bed.counted).toEqual(counted);
  });
});

describe('many checks at once', () => {
  class Slow extends Bed {
    readonly open: { readonly end: () => void; readonly signal: Cancellation }[] = [];
    override readonly transport = {
      post: (body: string, _timeout: number, signal: Cancellation): Promise<WebhookResponse> => {
        this.sent.push(JSON.parse(body) as JsonObject);
        return new Promise((resolve, reject) => {
          this.open.push({ signal, end: () => resolve(review({ allowed: true })) });
          signal.addEventListener('abort', () => reject(new ResponseError('aborted')));
        });
      },
    };
  }
  const never = (): AbortSignal => new AbortController().signal;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test('the same checks share one review', async () => {
    const bed = new Slow();
    const authorizer = bed.authorizer();
    const checks = Array.from({ length: 50 }, async () => authorizer.authorize(attributes(), never()));
    await turn();
    expect(bed.sent).toHaveLength(1);
    bed.open[0]?.end();
    for (const answer of await Promise.all(checks)) expect(answer.decision).toBe('allow');
  });

  test('a shared review goes on when one caller leaves, and ends with the last', async () => {
    const bed = new Slow();
    const authorizer = bed.authorizer();
    const [one, two] = [new AbortController(), new AbortController()];
    const first = authorizer.authorize(attributes(), one.signal);
    const second = authorizer.authorize(attributes(), two.signal);
    await turn();
    one.abort();
    expect((await first).error).toContain('the request ended');
    expect(bed.open[0]?.signal.aborted).toBe(false);
    two.abort();
    expect((await second).error).toContain('aborted');
    expect(bed.open[0]?.signal.aborted).toBe(true);
    const again = authorizer.authorize(attributes(), never());
    await turn();
    bed.open[1]?.end();
    expect((await again).decision).toBe('allow');
  });

  test('one user has 150 reviews in progress at most, and another one is not kept waiting', async () => {
    const bed = new Slow();
    const authorizer = bed.authorizer();
    const ask = (user: string, name: string): unknown =>
      authorizer.authorize(attributes({ name, user: { ...attributes().user, name: user } }), never());
    for (let i = 0; i < 400; i++) void ask('flood', `n${String(i)}`);
    await turn();
    expect(bed.sent).toHaveLength(150);
    void ask('other', 'n');
    await turn();
    expect(bed.sent).toHaveLength(151);
  });
});
