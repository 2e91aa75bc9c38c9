import type { JsonObject } from '../../apimachinery/json/json.js';
import type { AuthorizationResult, Authorizer } from '../../authorization/authorizer/interfaces.js';
import { authorizerValues } from './authorizer.js';
import { compileMatchConditions, type MatchConditionsOwner, type MatchResult } from './match-conditions.js';
import { admissionRequest, type RequestFacts } from './request.js';

const FACTS: RequestFacts = {
  operation: 'CREATE',
  kind: { group: '', version: 'v1', kind: 'ConfigMap' },
  resource: { group: '', version: 'v1', resource: 'configmaps' },
  subresource: '',
  namespace: 'team',
  name: 'settings',
  options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
  dryRun: false,
  user: { name: 'jane', uid: '', groups: ['dev'], extra: {} },
};

const OBJECT: JsonObject = { metadata: { name: 'settings' }, data: { size: '3' } };

const owner = (failurePolicy: 'Fail' | 'Ignore'): MatchConditionsOwner => ({
  kind: 'webhook',
  type: 'validating',
  name: 'check.example.com',
  failurePolicy,
});

function match(
  expressions: readonly string[],
  failurePolicy: 'Fail' | 'Ignore' = 'Fail',
  authorizer: Authorizer = { authorize: () => ({ decision: 'allow', reason: 'so' }) },
): MatchResult | Promise<MatchResult> {
  const conditions = expressions.map((expression, i) => ({ name: `c${String(i)}`, expression }));
  const values = authorizerValues(authorizer, FACTS, new AbortController().signal);
  return compileMatchConditions(conditions, owner(failurePolicy)).match(
    {
      object: OBJECT,
      oldObject: undefined,
      request: () => admissionRequest(FACTS, FACTS),
      authorizer: () => values,
    },
    'CREATE',
  );
}

test('a request matches if all conditions are true', () => {
  expect(match([])).toEqual({ matches: true });
  expect(match(['object.data.size == "3"', 'request.operation == "CREATE" && oldObject == null'])).toEqual({
    matches: true,
  });
  expect(match(['true', 'request.userInfo.username == "joe"', 'false'])).toEqual({ matches: false, condition: 'c1' });
});

test('a false condition takes precedence over an error', () => {
  expect(match(['object.spec.size > 1', 'false'])).toEqual({ matches: false, condition: 'c1' });
});

test('the failure policy applies if a condition fails', () => {
  const error = "expression 'object.spec.size > 1' resulted in error: no such key: spec";
  expect(match(['object.spec.size > 1', 'true'])).toEqual({ matches: false, error });
  expect(match(['object.spec.size > 1', 'true'], 'Ignore')).toEqual({ matches: false });
  expect(match(['object.a == 1', 'object.b == 1'])).toEqual({
    matches: false,
    error:
      "[expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' resulted in error: no such key: b]",
  });
});

test('a condition that does not compile is reported as a compilation error', () => {
  const result = match(['request.nothing == ""']);
  expect(result).toEqual({
    matches: false,
    error: expect.stringMatching(
      /^compilation error: compilation failed: ERROR: <input>:1:8: undefined field 'nothing'/,
    ) as string,
  });
  expect(match(['1'])).toEqual({ matches: false, error: 'compilation error: must evaluate to bool but got int' });
});

test('the namespace is null, and params are undeclared', () => {
  expect(match(['namespaceObject == null'])).toEqual({ matches: true });
  expect(match(['params == null'])).toMatchObject({ matches: false });
});

test('conditions share a budget', () => {
  const dear = 'authorizer.path("/a").check("get").allowed()';
  expect(match(Array<string>(7).fill(dear))).toEqual({ matches: true });
  expect(match(Array<string>(8).fill(dear))).toEqual({
    matches: false,
    error: 'validation failed due to running out of cost budget, no further validation rules will be run',
  });
});

test('the authorizer may be asynchronous, and is called once per distinct check', async () => {
  const asked: unknown[] = [];
  const authorizer: Authorizer = {
    authorize: ({ user, verb, namespace, resource, name, labelSelector }) => {
      asked.push([user.name, verb, namespace, resource, name, labelSelector]);
      return Promise.resolve<AuthorizationResult>({ decision: verb === 'get' ? 'allow' : 'no-opinion', reason: 'no' });
    },
  };
  const result = await match(
    [
      'authorizer.requestResource.check("get").allowed()',
      'authorizer.requestResource.check("get").allowed() && !authorizer.serviceAccount("team", "bot").group("apps").resource("deployments").labelSelector("a=b").check("list").allowed()',
    ],
    'Fail',
    authorizer,
  );
  expect(result).toEqual({ matches: true });
  expect(asked).toEqual([
    ['jane', 'get', 'team', 'configmaps', 'settings', undefined],
    ['system:serviceaccount:team:bot', 'list', '', 'deployments', '', [{ key: 'a', operator: 'In', values: ['b'] }]],
  ]);
});
