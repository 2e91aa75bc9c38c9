import { answeredObject } from './answer.js';
import { ResponseError } from './connection.js';
import { postError } from './post-error.js';

/** The expectations are the decisions of kube-apiserver's webhook client. */
test.each([
  ['InternalError', 500, true],
  ['', 500, true],
  ['SomethingOfItsOwn', 500, true],
  ['', 504, true],
  ['Timeout', 504, true],
  ['', 429, true],
  ['', 503, false],
  ['ServiceUnavailable', 503, false],
  ['Forbidden', 500, false],
  ['', 400, false],
])('a Status of reason %j and code %d: retried %p', (reason, code, transient) => {
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Status', status: 'Failure', message: 'why', reason, code });
  const error = postError({ status: code, body, contentType: 'application/json', retryAfter: false });
  expect([error.transient, error.message, error.code]).toEqual([transient, 'why', code]);
});

test.each([
  [500, false, true],
  [502, false, true],
  [504, false, true],
  [429, false, true],
  [503, false, false],
  [503, true, true],
  [404, false, false],
])('a response of status %d without a Status, Retry-After %p: retried %p', (status, retryAfter, transient) => {
  const error = postError({ status, body: '<html>', contentType: 'text/html', retryAfter });
  expect([error.transient, error.code]).toEqual([transient, status]);
});

test.each([200, 403])('a response with an invalid media type is an internal error for status %d', (status) => {
  const asked = { group: 'g', version: 'v1', kind: 'K' };
  const read = (): unknown => answeredObject({ status, body: '{}', contentType: 'a b/c', retryAfter: false }, asked);
  const message = 'Internal error occurred: mime: expected slash after first token';
  expect(read).toThrow(new ResponseError(message, { transient: true }));
});
