import type { AuthenticationResponse, RequestAuthenticator } from '../../authentication/authenticator/interfaces.js';
import type { Span } from '../../util/tracing.js';
import { Timings } from './timings.js';
import { ALICE, MASTER, TestChain } from '../../../test/fakes/endpoints/handler-chain.js';
import type { TracedRequest } from '../../request/tracer.js';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Returns the requests for which the tracer begins a span. */
function begun(
  answer: AuthenticationResponse,
  viaProxy = false,
  url = '/apis/apps/v1/namespaces/n/things/x/scale',
  userAgent = '',
): TracedRequest[] {
  const requests: TracedRequest[] = [];
  const span: Span = {
    sampled: false,
    recording: false,
    traceId: '',
    spanId: '',
    traceparent: '',
    start: () => span,
    setAttributes: () => undefined,
    end: () => undefined,
    run: (work) => work(),
  };
  const tracer = {
    begin: (request: TracedRequest) => {
      requests.push(request);
      return span;
    },
  };
  const authenticator: RequestAuthenticator = {
    authenticateRequest: (request) => {
      request.headers['traceparent'] = TRACEPARENT;
      request.headers['user-agent'] = userAgent;
      return { ...answer, viaProxy };
    },
  };
  const stage = new TestChain({ tracer, authenticator });
  stage.start({ url });
  return requests;
}

test.each([
  ['one of system:masters', MASTER, false, true],
  ['a scraper', { user: { ...ALICE.user, groups: ['system:monitoring'] } }, false, true],
  ['what a trusted front proxy sends', ALICE, true, true],
  ['all others', ALICE, false, false],
])('marks the trace of %s as trusted or not', (_name, answer, viaProxy, isTrusted) => {
  expect(begun(answer, viaProxy)).toMatchObject([
    {
      name: 'GET /apis/apps/v1/namespaces/{:namespace}/things/{:name}/scale',
      traceparent: TRACEPARENT,
      isTrusted,
      attributes: { 'audit-id': 'id' },
    },
  ]);
});

test('a non-resource request is named by its method only', () => {
  expect(begun(ALICE, false, '/livez?verbose=1')).toMatchObject([
    { name: 'GET', attributes: { 'http.target': '/livez' } },
  ]);
});

test('a span has only the beginning of the path and of the user agent, and no query', () => {
  const [request] = begun(ALICE, false, `/${'x'.repeat(20_000)}?token=secret`, 'y'.repeat(20_000));
  expect(request?.attributes).toMatchObject({
    'http.target': `/${'x'.repeat(1023)}...`,
    'http.user_agent': `${'y'.repeat(1024)}...`,
  });
  expect(request?.name.length).toBeLessThan(1_100);
});

test('an unauthenticated request is not traced', () => {
  const stage = new TestChain({
    tracer: {
      begin: () => {
        throw new Error('traced');
      },
    },
  });
  stage.authenticate = () => undefined;
  expect(stage.start().response.statusCode).toBe(401);
});

test('a stopwatch without a span only records times', () => {
  const timings = new Timings({ monotonic: () => 5 });
  timings.record('authorization', 2);
  timings.record('authorization', 3);
  expect([...timings.layers]).toEqual([['authorization', 5]]);
});
