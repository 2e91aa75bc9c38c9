import { noMetrics } from '../../../test/fakes/authorization/metrics.js';
import type { AuthorizationMetrics } from '../authorizer/instrumentation.js';
import type { AuthorizationResult, AuthorizerAttributes } from '../authorizer/interfaces.js';
import { buildAuthorizer, type AuthorizationDependencies } from '../build-authorizer.js';
import { NodeGraph } from '../node/node-graph.js';
import { RbacIndex } from '../rbac/rbac-index.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { loadAuthorizationConfiguration } from './load.js';
import { validateOptions, type AuthorizationOptions } from './options.js';
import { validateAuthorizationConfiguration, type ConfigValidation } from './validate.js';

const HEAD = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n';
const WEBHOOK =
  '{timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /k}}';

const validation: ConfigValidation = {
  compileCondition: (expression) => (expression.includes('!') ? { error: 'compilation failed' } : () => true),
  statFile: (path) =>
    path === '/k'
      ? { regular: true }
      : path === '/dir'
        ? { regular: false }
        : { missing: `stat ${path}: no such file or directory` },
  requiredTypes: [],
};

function problem(text: string, more: Partial<ConfigValidation> = {}): string {
  try {
    validateAuthorizationConfiguration(loadAuthorizationConfiguration(text), { ...validation, ...more });
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe('the file', () => {
  const load = 'failed to load AuthorizationConfiguration from file: ';
  const name =
    "authorizer name is invalid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  const at = (webhook: string): string =>
    `${HEAD}authorizers: [{type: Webhook, name: w, webhook: {timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, ${webhook}}}]`;
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'valid',
      `${HEAD}authorizers: [{type: Webhook, name: w, webhook: ${WEBHOOK}}, {type: Node, name: node}, {type: RBAC, name: rbac}]`,
      '',
    ],
    [
      'JSON, an older version',
      '{"apiVersion":"apiserver.config.k8s.io/v1beta1","kind":"AuthorizationConfiguration","authorizers":[{"type":"RBAC","name":"rbac"}]}',
      '',
    ],
    ['empty', '', 'authorizers: Required value: at least one authorization mode must be defined'],
    [
      'no authorizers',
      `${HEAD}authorizers: []`,
      'authorizers: Required value: at least one authorization mode must be defined',
    ],
    [
      'unknown fields',
      `${HEAD}authorizerz: []\nauthorizers: [{type: RBAC, name: foo, x: 1}]`,
      `${load}strict decoding error: unknown field "authorizers[0].x", unknown field "authorizerz"`,
    ],
    [
      'unknown fields of a webhook',
      at('connectionInfo: {type: InClusterConfig, a: 1}, z: 1, matchConditions: [{expression: a, b: 1}]'),
      `${load}strict decoding error: unknown field "authorizers[0].webhook.connectionInfo.a", unknown field "authorizers[0].webhook.matchConditions[0].b", unknown field "authorizers[0].webhook.z"`,
    ],
    [
      'other version',
      'apiVersion: apiserver.config.k8s.io/v9\nkind: AuthorizationConfiguration',
      `${load}no kind "AuthorizationConfiguration" is registered for version "apiserver.config.k8s.io/v9" in scheme "pkg/runtime/scheme.go:111"`,
    ],
    [
      'no version',
      'kind: AuthorizationConfiguration\n',
      `${load}Object 'apiVersion' is missing in 'kind: AuthorizationConfiguration\n'`,
    ],
    [
      'other kind',
      HEAD.replace('Authorization', 'Authentication'),
      `${load}expected AuthorizationConfiguration, got *apiserver.AuthenticationConfiguration`,
    ],
    [
      'list of another type',
      `${HEAD}authorizers: 5`,
      `${load}json: cannot unmarshal number into Go struct field AuthorizationConfiguration.authorizers of type []v1.AuthorizerConfiguration`,
    ],
    [
      'field of another type',
      at('connectionInfo: {type: true}'),
      `${load}json: cannot unmarshal bool into Go struct field WebhookConnectionInfo.authorizers.webhook.connectionInfo.type of type string`,
    ],
    ['duration', at('authorizedTTL: 3x'), `${load}time: unknown unit "x" in duration "3x"`],
    [
      'types',
      `${HEAD}authorizers: [{type: RBAC, name: rbac}, {type: RBAC, name: foo}, {type: Foo}, {name: x}, {type: Node, name: A_b, webhook: {}}]`,
      `[authorizers[1].type: Duplicate value: "RBAC", authorizers[2].type: Unsupported value: "Foo": supported values: "Node", "RBAC", "Webhook", authorizers[3].type: Required value, authorizers[4].name: Invalid value: "A_b": ${name}, authorizers[4].webhook: Invalid value: "non-null": may only be specified when type=Webhook]`,
    ],
    [
      'modes for the flag only',
      `${HEAD}authorizers: [{type: AlwaysAllow, name: alwaysallow}]`,
      'authorizers[0].type: Unsupported value: "AlwaysAllow": supported values: "Node", "RBAC", "Webhook"',
    ],
    [
      'names',
      `${HEAD}authorizers: [{type: Webhook, webhook: ${WEBHOOK}}, {type: Webhook, name: w, webhook: ${WEBHOOK}}, {type: Webhook, name: w, webhook: ${WEBHOOK}}]`,
      '[authorizers[0].name: Required value, authorizers[2].name: Duplicate value: "w"]',
    ],
    [
      'name of a type',
      `${HEAD}authorizers: [{type: RBAC, name: foo}]`,
      'expected name rbac for authorizer RBAC instead of foo',
    ],
    [
      'no webhook',
      `${HEAD}authorizers: [{type: Webhook, name: w}]`,
      'authorizers[0].webhook: Required value: required when type=Webhook',
    ],
    [
      'everything wrong',
      `${HEAD}authorizers: [{type: Webhook, name: w, webhook: {timeout: 31s, authorizedTTL: -1s, subjectAccessReviewVersion: v2, matchConditionSubjectAccessReviewVersion: v2, failurePolicy: X, connectionInfo: {type: Q, kubeConfigFile: z}, matchConditions: [{expression: ''}, {expression: 'true'}, {expression: 'true'}, {expression: '!'}]}}]`,
      '[authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s, authorizers[0].authorizedTTL: Invalid value: "-1s": must be > 0s, authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1", authorizers[0].matchConditionSubjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", authorizers[0].failurePolicy: Unsupported value: "X": supported values: "NoOpinion", "Deny", authorizers[0].connectionInfo.type: Unsupported value: {"Type":"Q","KubeConfigFile":"z"}: supported values: "InClusterConfig", "KubeConfigFile", authorizers[0].matchConditions[0].expression: Required value, authorizers[0].matchConditions[2].expression: Duplicate value: "true", authorizers[0].matchConditions[3].expression: Invalid value: "!": compilation failed]',
    ],
    [
      'everything missing',
      `${HEAD}authorizers: [{type: Webhook, name: w, webhook: {matchConditions: [{expression: 'true'}]}}]`,
      '[authorizers[0].timeout: Required value, authorizers[0].subjectAccessReviewVersion: Required value, authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified, authorizers[0].failurePolicy: Required value, authorizers[0].connectionInfo.type: Required value]',
    ],
    [
      'file that is not there',
      at('connectionInfo: {type: KubeConfigFile, kubeConfigFile: /nope}'),
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/nope": error loading file: stat /nope: no such file or directory',
    ],
    [
      'relative file',
      at('connectionInfo: {type: KubeConfigFile, kubeConfigFile: rel}'),
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "rel": must be an absolute path',
    ],
    [
      'folder',
      at('connectionInfo: {type: KubeConfigFile, kubeConfigFile: /dir}'),
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/dir": must be a regular file',
    ],
    [
      'in-cluster with a file',
      at('connectionInfo: {type: InClusterConfig, kubeConfigFile: /k}'),
      'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/k": can only be set when type=KubeConfigFile',
    ],
    [
      'in-cluster where reviews are hosted',
      at('connectionInfo: {type: InClusterConfig}'),
      'authorizers[0].connectionInfo.type: Invalid value: "InClusterConfig": the webhook would call this server itself, which serves the SubjectAccessReview API',
    ],
    [
      'the longest timeout, the other version and policy, 64 conditions',
      `${HEAD}authorizers: [{type: Webhook, name: w, webhook: {timeout: 30s, authorizedTTL: 0s, subjectAccessReviewVersion: v1beta1, failurePolicy: NoOpinion, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /k}, matchConditionSubjectAccessReviewVersion: v1, matchConditions: [${Array.from({ length: 64 }, (_, i) => `{expression: 'e${i}'}`).join(', ')}]}}]`,
      '',
    ],
    [
      'less than nothing',
      `${HEAD}authorizers: [{type: Webhook, name: w, webhook: {timeout: -1s, unauthorizedTTL: -1s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile}}}]`,
      '[authorizers[0].timeout: Invalid value: "-1s": must be > 0s and <= 30s, authorizers[0].unauthorizedTTL: Invalid value: "-1s": must be > 0s, authorizers[0].connectionInfo.kubeConfigFile: Required value]',
    ],
    [
      '65 conditions',
      at(
        `connectionInfo: {type: KubeConfigFile, kubeConfigFile: /k}, matchConditionSubjectAccessReviewVersion: v1, matchConditions: [${Array.from({ length: 65 }, (_, i) => `{expression: 'e${i}'}`).join(', ')}]`,
      ),
      'authorizers[0].matchConditions: Too many: 65: must have at most 64 items',
    ],
  ];
  test.each(cases)('%s', (_name, text, expected) => {
    expect(problem(text)).toBe(expected);
  });

  test('enforces required types', () => {
    const webhook = at('connectionInfo: {type: KubeConfigFile, kubeConfigFile: /k}');
    expect(problem(webhook)).toBe('');
    expect(problem(webhook, { requiredTypes: ['RBAC', 'Node'] })).toBe('missing required types: [Node RBAC]');
  });

  test('sets defaults', () => {
    const [item] = loadAuthorizationConfiguration(
      `${HEAD}authorizers: [{type: Webhook, name: w, webhook: {cacheUnauthorizedRequests: false}}]`,
    ).authorizers;
    expect(item?.webhook).toMatchObject({
      authorizedTTL: 300_000,
      unauthorizedTTL: 30_000,
      cacheAuthorizedRequests: true,
      cacheUnauthorizedRequests: false,
      timeout: 0,
    });
  });
});

const flags: AuthorizationOptions = {
  modes: ['RBAC'],
  configFile: '',
  policyFile: '',
  webhookConfigFile: '',
  webhookVersion: 'v1beta1',
  webhookCacheAuthorizedTtl: 300_000,
  webhookCacheUnauthorizedTtl: 30_000,
  legacyFlagsSet: false,
};

describe('flags', () => {
  const cases: readonly (readonly [string, Partial<AuthorizationOptions>, readonly string[]])[] = [
    ['modes', { modes: ['Node', 'RBAC'] }, []],
    ['none', { modes: [] }, ['at least one authorization-mode must be passed']],
    [
      'several problems',
      { modes: ['Foo', 'RBAC', 'RBAC'], policyFile: '/x' },
      [
        'authorization-mode "Foo" is not a valid mode',
        'cannot specify --authorization-policy-file without mode ABAC',
        'authorization-mode ["Foo" "RBAC" "RBAC"] has mode specified more than once',
      ],
    ],
    ['ABAC without a file', { modes: ['ABAC'] }, ["authorization-mode ABAC's authorization policy file not passed"]],
    [
      'Webhook without a file',
      { modes: ['Webhook'] },
      ["authorization-mode Webhook's authorization config file not passed"],
    ],
    [
      'file without Webhook',
      { webhookConfigFile: '/k' },
      ['cannot specify --authorization-webhook-config-file without mode Webhook'],
    ],
    [
      'other version',
      { modes: ['Webhook'], webhookConfigFile: '/k', webhookVersion: 'v2' },
      ['unsupported webhook authorizer version "v2", supported versions are "v1", "v1beta1"'],
    ],
    ['file', { modes: [], configFile: '/c' }, []],
    [
      'file and mode',
      { configFile: '/c', legacyFlagsSet: true },
      [
        '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
      ],
    ],
  ];
  test.each(cases)('%s', (_name, more, expected) => {
    expect(validateOptions({ ...flags, ...more })).toEqual(expected);
  });
});

const ask = (name: string, ...groups: string[]): AuthorizerAttributes => ({
  user: { name, uid: '', groups, extra: {} },
  verb: 'get',
  resourceRequest: true,
  namespace: '',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  name: 'x',
  path: '',
});

class Bed {
  readonly clock = new FakeClock();
  readonly files = new Map<string, string>();
  readonly counted: string[] = [];
  readonly failures: string[] = [];
  readonly abort = new AbortController();
  readonly open = new Set<string>();
  changed: () => void = () => undefined;
  readonly rbac = new RbacIndex();
  readonly metrics: AuthorizationMetrics = {
    ...noMetrics,
    decision: (type, name, decision) => this.counted.push(`${type} ${name} ${decision}`),
    configReload: (status) => this.counted.push(`reload ${status}`),
  };
  readonly dependencies: AuthorizationDependencies = {
    ...validation,
    rbac: this.rbac,
    nodes: new NodeGraph(),
    metrics: this.metrics,
    clock: this.clock,
    random: () => 0,
    readFile: (path) => {
      const text = this.files.get(path);
      return text === undefined
        ? Promise.reject(new Error(`open ${path}: no such file or directory`))
        : Promise.resolve(text);
    },
    watchFile: (_path, changed) => (this.changed = changed),
    connect: (name) => {
      this.open.add(name);
      return Promise.resolve({
        post: () =>
          Promise.resolve({
            status: 200,
            contentType: '',
            retryAfter: false,
            body: '{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true,"reason":"hook"}}',
          }),
        close: () => this.open.delete(name),
      });
    },
    failed: (text) => this.failures.push(text),
  };

  build(more: Partial<AuthorizationOptions>): ReturnType<typeof buildAuthorizer> {
    return buildAuthorizer({ ...flags, ...more }, this.dependencies, this.abort.signal);
  }
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
};

describe('the chain', () => {
  const decide = async (
    bed: Bed,
    more: Partial<AuthorizationOptions>,
    question: AuthorizerAttributes,
  ): Promise<AuthorizationResult> =>
    (await bed.build(more)).authorizer.authorize(question, new AbortController().signal);

  test('system:masters is allowed first, and not counted', async () => {
    const bed = new Bed();
    expect(await decide(bed, { modes: ['AlwaysDeny'] }, ask('a', 'system:masters'))).toEqual({
      decision: 'allow',
      reason: '',
    });
    expect(bed.counted).toEqual([]);
  });

  test('modes are called in order, and decisions counted', async () => {
    const bed = new Bed();
    bed.rbac.upsert('ClusterRole', {
      metadata: { name: 'c' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    });
    bed.rbac.upsert('ClusterRoleBinding', {
      metadata: { name: 'b' },
      roleRef: { kind: 'ClusterRole', name: 'c' },
      subjects: [{ kind: 'User', name: 'jane' }],
    });
    bed.files.set('/p', '{"user":"joe"}');
    const modes = { modes: ['AlwaysDeny', 'Node', 'RBAC', 'ABAC'], policyFile: '/p' };
    expect((await decide(bed, modes, ask('jane'))).reason).toContain('ClusterRoleBinding "b"');
    expect((await decide(bed, modes, ask('joe'))).decision).toBe('allow');
    expect(await decide(bed, modes, ask('jim'))).toEqual({
      decision: 'no-opinion',
      reason: 'Everything is forbidden.\nNo policy matched.',
    });
    expect(bed.counted).toEqual(['RBAC rbac allowed', 'ABAC abac allowed']);
  });

  test('supports the webhook mode', async () => {
    const bed = new Bed();
    const hook = { modes: ['Webhook'], webhookConfigFile: '/k', webhookVersion: 'v1' };
    expect(await decide(bed, hook, ask('jim'))).toEqual({ decision: 'allow', reason: 'hook' });
    expect(bed.counted).toEqual(['Webhook default allowed']);
    bed.abort.abort();
    expect(bed.open.size).toBe(0);
  });

  test('refuses invalid configuration at the start', async () => {
    const bed = new Bed();
    await expect(bed.build({ modes: ['ABAC'], policyFile: '/none' })).rejects.toThrow(
      'open /none: no such file or directory',
    );
    await expect(bed.build({ configFile: '/none' })).rejects.toThrow('open /none');
    bed.files.set('/c', HEAD);
    await expect(bed.build({ configFile: '/c' })).rejects.toThrow('at least one authorization mode must be defined');
    await expect(bed.build({ configFile: '/c', legacyFlagsSet: true })).rejects.toThrow(
      '--authorization-config can not be specified',
    );
  });
});

describe('reload', () => {
  const RBAC = '{type: RBAC, name: rbac}';
  const HOOK = `{type: Webhook, name: w, webhook: ${WEBHOOK}}`;
  const start = async (): Promise<{
    bed: Bed;
    decide: () => Promise<string>;
    set: (...authorizers: string[]) => void;
  }> => {
    const bed = new Bed();
    const set = (...authorizers: string[]): void =>
      void bed.files.set('/c', `${HEAD}authorizers: [${authorizers.join(', ')}]`);
    set(RBAC);
    const { authorizer } = await bed.build({ modes: [], configFile: '/c' });
    return {
      bed,
      set,
      decide: async () => (await authorizer.authorize(ask('jim'), new AbortController().signal)).decision,
    };
  };

  test('happens when a change is noticed', async () => {
    const { bed, decide, set } = await start();
    expect(await decide()).toBe('no-opinion');
    set(RBAC, HOOK);
    expect(await decide()).toBe('no-opinion');
    bed.changed();
    await settle();
    expect(await decide()).toBe('allow');
    set(RBAC);
    bed.changed();
    await settle();
    expect([await decide(), bed.open.size]).toEqual(['no-opinion', 0]);
    expect(bed.counted.filter((text) => text.startsWith('reload'))).toEqual(['reload success', 'reload success']);
  });

  test('happens every minute, without counting unchanged files', async () => {
    const { bed, decide, set } = await start();
    bed.clock.advance(60_000);
    await settle();
    set(HOOK, RBAC);
    bed.clock.advance(59_000);
    await settle();
    expect(await decide()).toBe('no-opinion');
    bed.clock.advance(1_000);
    await settle();
    expect(await decide()).toBe('allow');
    expect(bed.counted.filter((text) => text.startsWith('reload'))).toEqual(['reload success']);
  });

  const broken: readonly (readonly [string, string, string])[] = [
    ['unreadable', 'a: [', 'failed to load AuthorizationConfiguration from file: yaml: '],
    ['a type that was there is missing', `${HEAD}authorizers: [${HOOK}]`, 'missing required types: [RBAC]'],
    [
      'a type that was not there',
      `${HEAD}authorizers: [${RBAC}, {type: Node, name: node}]`,
      'authorizer type Node is not allowed if it was not enabled at initial server startup',
    ],
  ];
  test.each(broken)('keeps the old chain: %s', async (_name, text, why) => {
    const { bed, decide, set } = await start();
    set(RBAC, HOOK);
    bed.changed();
    await settle();
    bed.files.set('/c', text);
    bed.changed();
    await settle();
    expect(await decide()).toBe('allow');
    expect(bed.failures).toEqual([expect.stringContaining(why)]);
    bed.changed();
    await settle();
    expect(bed.failures).toHaveLength(1);
    bed.abort.abort();
    expect(bed.open.size).toBe(0);
  });
});
