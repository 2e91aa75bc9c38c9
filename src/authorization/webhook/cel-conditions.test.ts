import type { AuthorizerAttributes } from '../authorizer/interfaces.js';
import { compileCelCondition } from './cel-conditions.js';
import { matchRequest } from './review.js';

const attributes: AuthorizerAttributes = {
  user: { name: 'jane', uid: '', groups: ['dev', 'ops'], extra: { 'example.com/k': ['v'] } },
  verb: 'list',
  resourceRequest: true,
  namespace: 'ns',
  apiGroup: 'apps',
  apiVersion: 'v1',
  resource: 'deployments',
  subresource: '',
  name: '',
  path: '',
  fieldSelector: [{ key: 'spec.nodeName', operator: 'In', values: ['n'] }],
};
const paths: AuthorizerAttributes = { ...attributes, resourceRequest: false, path: '/healthz', verb: 'get' };

function run(expression: string, asked = attributes): boolean | string {
  const compiled = compileCelCondition(expression);
  if ('error' in compiled) return compiled.error;
  try {
    return compiled(matchRequest(asked));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const cases: readonly (readonly [string, AuthorizerAttributes, boolean | string])[] = [
  ["request.user == 'jane' && 'ops' in request.groups", attributes, true],
  ["request.uid == ''", attributes, true],
  ["request.extra['example.com/k'] == ['v']", attributes, true],
  ["has(request.resourceAttributes) && request.resourceAttributes.namespace == 'ns'", attributes, true],
  ["request.resourceAttributes.name == '' && request.resourceAttributes.subresource == ''", attributes, true],
  [
    "request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'spec.nodeName' && r.values == ['n'])",
    attributes,
    true,
  ],
  ['has(request.resourceAttributes.labelSelector)', attributes, false],
  ['has(request.resourceAttributes)', paths, false],
  ["request.nonResourceAttributes.path.startsWith('/health')", paths, true],
  [
    "request.resourceAttributes.namespace == 'ns'",
    paths,
    "expression 'request.resourceAttributes.namespace == 'ns'' resulted in error: no such key: resourceAttributes",
  ],
  ["timestamp('2020-01-01T00:00:00Z')", attributes, 'must evaluate to bool but got google.protobuf.Timestamp'],
  ["!('system:nodes' in request.groups)", attributes, true],
  ['1', attributes, 'must evaluate to bool but got int'],
  [
    'request.foo',
    attributes,
    "compilation failed: ERROR: <input>:1:8: undefined field 'foo'\n | request.foo\n | .......^",
  ],
  [
    'request.user == 1',
    attributes,
    "compilation failed: ERROR: <input>:1:14: found no matching overload for '_==_' applied to '(string, int)'\n | request.user == 1\n | .............^",
  ],
];

test.each(cases)('%s', (expression, asked, expected) => {
  expect(run(expression, asked)).toBe(expected);
});
