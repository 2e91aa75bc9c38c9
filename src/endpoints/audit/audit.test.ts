import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { ApiError, newForbidden, newUnauthorized, type Status } from '../../apimachinery/meta/errors.js';
import type { AuthorizerAttributes } from '../../authorization/authorizer/interfaces.js';
import type { RequestInfo } from '../../request/request-info.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { Exchange } from '../filters/exchange.js';
import { Timings } from '../filters/timings.js';
import { Auditor } from './auditor.js';
import { LogFile } from './log-file.js';
import { AuditPolicy } from './policy.js';
import { AuditPolicyError } from './policy-file.js';
import { redacted, withoutManagedFields } from './redact.js';

const policy = (rules: string, head = ''): AuditPolicy =>
  AuditPolicy.parse(`apiVersion: audit.k8s.io/v1\nkind: Policy\n${head}\nrules:\n${rules}`);
const ask = (over: Partial<AuthorizerAttributes> = {}): AuthorizerAttributes => ({
  user: { name: 'jane', uid: '', groups: ['devs'], extra: {} },
  verb: 'get',
  resourceRequest: true,
  namespace: 'n',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  name: 'p',
  path: '/api/v1/namespaces/n/pods/p',
  ...over,
});
const url = (path: string): Partial<AuthorizerAttributes> => ({ resourceRequest: false, path, namespace: '' });

describe('rules', () => {
  const cases: readonly (readonly [string, string, Partial<AuthorizerAttributes>, boolean])[] = [
    ['everything', '{}', {}, true],
    ['user', '{users: [jane]}', {}, true],
    ['other user', '{users: [joe]}', {}, false],
    ['group', '{userGroups: [x, devs]}', {}, true],
    ['other group', '{userGroups: [x]}', {}, false],
    ['verb', '{verbs: [list]}', {}, false],
    ['namespace', '{namespaces: ["n"]}', {}, true],
    ['cluster scope', '{namespaces: [""]}', { namespace: '' }, true],
    ['resources for a path', '{namespaces: [""]}', url('/x'), false],
    ['resource', '{resources: [{group: "", resources: [pods]}]}', {}, true],
    ['resource, not its subresource', '{resources: [{group: "", resources: [pods]}]}', { subresource: 'log' }, false],
    ['subresource', '{resources: [{group: "", resources: [pods/log]}]}', { subresource: 'log' }, true],
    ['any resource of a subresource', '{resources: [{group: "", resources: ["*/log"]}]}', { subresource: 'log' }, true],
    ['any subresource', '{resources: [{group: "", resources: ["pods/*"]}]}', { subresource: 'log' }, true],
    ['whole group', '{resources: [{group: apps}]}', { apiGroup: 'apps' }, true],
    ['any group', '{resources: [{group: "*", resources: [pods]}]}', { apiGroup: 'apps' }, true],
    ['other group', '{resources: [{group: apps}]}', {}, false],
    ['name', '{resources: [{group: "", resources: [pods], resourceNames: [p]}]}', {}, true],
    ['other name', '{resources: [{group: "", resources: [pods], resourceNames: [q]}]}', {}, false],
    ['path', '{nonResourceURLs: [/healthz]}', url('/healthz'), true],
    ['path below', '{nonResourceURLs: ["/healthz*"]}', url('/healthz/ping'), true],
    ['any path', '{nonResourceURLs: ["*"]}', url('/x'), true],
    ['paths for a resource', '{nonResourceURLs: ["*"]}', {}, false],
  ];
  test.each(cases)('%s', (_name, rule, attributes, fits) => {
    const rules = `- ${rule.replace('{', '{level: Request, ').replace(', }', '}')}`;
    expect(policy(rules).decide(ask(attributes)).level).toBe(fits ? 'Request' : 'None');
  });

  test('the first matching rule applies, with its own and the global omitted stages', () => {
    const { level, omitStages, omitManagedFields } = policy(
      '- {level: Metadata, users: [jane], omitStages: [Panic]}\n- {level: Request}',
      'omitStages: [RequestReceived]\nomitManagedFields: true',
    ).decide(ask());
    expect([level, [...omitStages], omitManagedFields]).toEqual(['Metadata', ['RequestReceived', 'Panic'], true]);
  });

  const bad: readonly (readonly [string, string, string])[] = [
    ['no level', '- {}', 'rules[0].level: Required value'],
    ['unknown level', '- {level: All}', 'rules[0].level: Unsupported value: "All"'],
    [
      'unknown stage',
      '- {level: None, omitStages: [x]}',
      'rules[0].omitStages[0]: Invalid value: "x": allowed stages are',
    ],
    ['relative path', '- {level: None, nonResourceURLs: [x]}', "must begin with a '/' character"],
    ['wildcard within', '- {level: None, nonResourceURLs: ["/a*b"]}', 'must be the final character'],
    ['names alone', '- {level: None, resources: [{group: "", resourceNames: [a]}]}', 'requires at least one resource'],
    [
      'both kinds',
      '- {level: None, namespaces: [a], nonResourceURLs: [/a]}',
      'both regular resources and non-resource URLs',
    ],
    ['none', '  []', 'loaded illegal policy with 0 rules'],
  ];
  test.each(bad)('refused: %s', (_name, rules, why) => {
    expect(() => policy(rules)).toThrow(why);
  });

  const field = (kind: string, name: string, type: string): string =>
    `failed decoding: json: cannot unmarshal ${kind} into Go struct field ${name} of type ${type}`;
  const mistyped: readonly (readonly [string, string, string])[] = [
    ['rules', 'rules: {a: b}', field('object', 'Policy.rules', '[]v1.PolicyRule')],
    ['rule', 'rules: [7]', field('number', 'Policy.rules', 'v1.PolicyRule')],
    ['level', 'rules: [{level: 7}]', field('number', 'PolicyRule.rules.level', 'v1.Level')],
    ['verbs', 'rules: [{level: None, verbs: get}]', field('string', 'PolicyRule.rules.verbs', '[]string')],
    ['verb', 'rules: [{level: None, verbs: [1]}]', field('number', 'PolicyRule.rules.verbs', 'string')],
    ['stages', 'omitStages: x', field('string', 'Policy.omitStages', '[]v1.Stage')],
    ['stage', 'omitStages: [7]', field('number', 'Policy.omitStages', 'v1.Stage')],
    ['flag', 'omitManagedFields: "x"', field('string', 'Policy.omitManagedFields', 'bool')],
    [
      'flag of a rule',
      'rules: [{omitManagedFields: "x"}]',
      field('string', 'PolicyRule.rules.omitManagedFields', 'bool'),
    ],
    ['resources', 'rules: [{resources: x}]', field('string', 'PolicyRule.rules.resources', '[]v1.GroupResources')],
    ['resource', 'rules: [{resources: [x]}]', field('string', 'PolicyRule.rules.resources', 'v1.GroupResources')],
    ['group', 'rules: [{resources: [{group: 7}]}]', field('number', 'GroupResources.rules.resources.group', 'string')],
    ['no rule', 'rules: [null]', 'rules[0].level: Required value'],
  ];
  test.each(mistyped)('refuses a wrong type: %s', (_name, fields, why) => {
    expect(() => AuditPolicy.parse(`apiVersion: audit.k8s.io/v1\nkind: Policy\n${fields}`)).toThrow(
      new AuditPolicyError(why),
    );
  });

  test.each([
    ['another kind', 'apiVersion: v1\nkind: Pod', 'failed decoding: no kind "Pod" is registered for version "v1" in'],
    ['no version', 'kind: Policy', 'unknown group version field audit.k8s.io/__internal, Kind=Policy in policy'],
    ['a text', 'foo', "failed decoding: couldn't get version/kind; json parse error: json: cannot unmarshal string"],
    ['no YAML', '{', 'failed decoding'],
  ])('refuses another file: %s', (_name, text, why) => {
    expect(() => AuditPolicy.parse(text)).toThrow(why);
  });

  test('a policy needs no kind', () => {
    const kindless = AuditPolicy.parse('apiVersion: audit.k8s.io/v1\nrules: [{level: Request}]');
    expect(kindless.decide(ask()).level).toBe('Request');
  });
});

describe('redaction', () => {
  const info = (apiGroup: string, resource: string, subresource = ''): RequestInfo =>
    ({ apiGroup, resource, subresource }) as RequestInfo;
  const secrets = info('', 'secrets');
  const SECRET = 'c2VjcmV0';
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': SECRET, a: 'b' };
  const cases: readonly (readonly [string, RequestInfo, JsonValue])[] = [
    ['secret', secrets, { data: { k: SECRET }, stringData: { l: SECRET }, metadata: { annotations } }],
    ['list', secrets, { items: [{ data: { k: SECRET } }] }],
    ['table', secrets, { rows: [{ object: { data: { k: SECRET } } }] }],
    ['merge patch', secrets, { data: { k: SECRET } }],
    ['content at the wrong place', secrets, { password: SECRET, metadata: {} }],
    ['patch that replaces data', secrets, { data: SECRET }],
    ['JSON patch', secrets, [{ op: 'add', path: '/data/k', value: SECRET }]],
    ['patch that is no JSON', secrets, SECRET],
    ['requested token', info('', 'serviceaccounts', 'token'), { status: { token: SECRET } }],
    ['reviewed token', info('authentication.k8s.io', 'tokenreviews'), { spec: { token: SECRET } }],
  ];
  test.each(cases)('%s', (_name, about, value) => {
    const before = JSON.stringify(value);
    expect(JSON.stringify(redacted(about, value))).not.toContain(SECRET);
    expect(JSON.stringify(value)).toBe(before);
  });

  test('leaves other objects unchanged', () => {
    const value = { data: { k: 'v' } };
    expect(redacted(info('', 'configmaps'), value)).toBe(value);
  });
});

describe('events', () => {
  const lines: JsonObject[] = [];
  const metrics = { level: jest.fn(), event: jest.fn() };
  const clock = new FakeClock();
  const make = (level: string, head = ''): Auditor =>
    new Auditor(
      policy(`- {level: ${level}}`, head),
      { write: (line) => lines.push(JSON.parse(line) as JsonObject) },
      metrics,
      clock,
    );
  const exchange = (over: Record<string, unknown> = {}): Exchange => {
    const user = { name: 'jane', uid: 'u', groups: ['g'], extra: { k: ['v'] } };
    const info = {
      isResourceRequest: true,
      verb: 'create',
      resource: 'configmaps',
      namespace: 'n',
      name: '',
      apiGroup: '',
      apiVersion: 'v1',
      subresource: '',
    };
    const made: object = {
      impersonationConstraint: '',
      user,
      requestor: user,
      info,
      auditId: 'id',
      receivedAt: 0,
      startedAt: clock.monotonic(),
      authenticationMillis: 0,
      mutatingWebhookMillis: 0,
      validatingWebhookMillis: 0,
      userAgent: 'x'.repeat(2000),
      headers: { 'x-forwarded-for': '1.2.3.4, 5.6.7.8' },
      socket: { remoteAddress: '::ffff:9.9.9.9' },
      request: { url: '/api?x=y' },
      response: { statusCode: 201, headersSent: true },
      phases: () => Exchange.prototype.phases.call(made),
      ...over,
    };
    return made as Exchange;
  };
  const answer = (one: Exchange, status: Status): void => one.audit?.responseStatus(status);
  beforeEach(() => {
    lines.length = 0;
  });

  test('annotate the latencies of a slow request', () => {
    const notes = (millis: number): unknown => {
      const annotations = new Map<string, string>();
      const annotate = (key: string, value: string): unknown => annotations.set(key, value);
      const stopwatch = new Timings(clock);
      const one = exchange({ annotations, annotate, authenticationMillis: 0.0423, stopwatch });
      const auditor = make('Metadata');
      auditor.requestReceived(one, ask());
      stopwatch.record('authorization', 1300.4);
      stopwatch.record('etcd', 1.25);
      stopwatch.record('etcd', 2);
      stopwatch.record('impersonation', 0);
      clock.advance(millis);
      auditor.responseComplete(one, undefined);
      expect(lines.at(-2)).not.toHaveProperty('annotations');
      return lines.at(-1)?.['annotations'];
    };
    expect(notes(500)).toBeUndefined();
    expect(notes(1501)).toEqual({
      'apiserver.latency.k8s.io/authentication': '42.3µs',
      'apiserver.latency.k8s.io/authorization': '1.3004s',
      'apiserver.latency.k8s.io/etcd': '3.25ms',
      'apiserver.latency.k8s.io/total': '1.501s',
    });
  });

  test('contain the objects of the request and the response', () => {
    const auditor = make('RequestResponse');
    const one = exchange({ annotations: new Map([['a', 'b']]) });
    auditor.requestReceived(one, ask());
    const sent = { metadata: { name: 'c', managedFields: [] }, data: { k: 'v' } };
    one.audit?.requestObject(() => sent);
    sent.data.k = 'changed';
    one.audit?.responseObject(() => ({ metadata: { uid: 'u' } }));
    auditor.responseComplete(one, undefined);
    expect(lines.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseComplete']);
    expect(lines[0]).not.toHaveProperty('requestObject');
    expect(lines[1]).toMatchObject({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'RequestResponse',
      auditID: 'id',
      requestURI: '/api?x=y',
      verb: 'create',
      user: { username: 'jane', uid: 'u', groups: ['g'], extra: { k: ['v'] } },
      sourceIPs: ['1.2.3.4', '5.6.7.8', '9.9.9.9'],
      userAgent: `${'x'.repeat(1024)}...TRUNCATED`,
      objectRef: { resource: 'configmaps', namespace: 'n', name: 'c', apiVersion: 'v1' },
      responseStatus: { metadata: {}, code: 201 },
      requestObject: { metadata: { name: 'c', managedFields: [] }, data: { k: 'v' } },
      responseObject: { metadata: { uid: 'u' } },
      requestReceivedTimestamp: '1970-01-01T00:00:00.000000Z',
      annotations: { a: 'b' },
    });
    expect(lines[1]).not.toHaveProperty('impersonatedUser');
  });

  test('contain the beginning of what clients choose', () => {
    const auditor = make('Metadata');
    const url = `/api?x=${'y'.repeat(20_000)}`;
    const info = { ...exchange().info, verb: 'v'.repeat(5_000), resource: 'r'.repeat(5_000), name: 'n'.repeat(5_000) };
    const one = exchange({ request: { url }, info, userAgent: 'a'.repeat(20_000) });
    auditor.requestReceived(one, ask());
    auditor.responseComplete(one, undefined);
    for (const line of lines) {
      expect(line['requestURI']).toBe(`${url.slice(0, 8192)}...TRUNCATED`);
      expect(line['userAgent']).toBe(`${'a'.repeat(1024)}...TRUNCATED`);
      expect(JSON.stringify(line).length).toBeLessThan(20_000);
    }
  });

  test('contain objects only at their levels, without managed fields if configured', () => {
    const auditor = make('Request', 'omitManagedFields: true\nomitStages: [RequestReceived]');
    const one = exchange();
    auditor.requestReceived(one, ask());
    one.audit?.requestObject(() => ({ metadata: { name: 'c', managedFields: [] } }));
    const response = jest.fn();
    one.audit?.responseObject(response);
    auditor.responseComplete(one, undefined);
    expect(response).not.toHaveBeenCalled();
    expect(lines).toHaveLength(1);
    expect(lines[0]?.['requestObject']).toEqual({ metadata: { name: 'c' } });
  });

  test('contain the impersonated user and the refusal', () => {
    const auditor = make('Metadata');
    const other = { name: 'joe', uid: '', groups: [], extra: {} };
    const one = exchange();
    auditor.requestReceived(one, ask());
    one.user = other;
    one.impersonationConstraint = 'impersonate:user-info';
    answer(one, newForbidden({ group: '', resource: 'configmaps' }, 'c', 'no').status);
    auditor.responseComplete(one, undefined);
    expect(lines[0]).not.toHaveProperty('authenticationMetadata');
    expect(lines[1]).toMatchObject({
      impersonatedUser: { username: 'joe' },
      authenticationMetadata: { impersonationConstraint: 'impersonate:user-info' },
      responseStatus: { status: 'Failure', reason: 'Forbidden', code: 403 },
    });
  });

  test('are not written at level None', () => {
    const auditor = make('None');
    const one = exchange();
    auditor.requestReceived(one, ask());
    auditor.responseStarted(one);
    auditor.responseComplete(one, undefined);
    expect(one.audit).toBeUndefined();
    expect(lines).toEqual([]);
  });

  test('are written for a watch when its response starts', () => {
    const auditor = make('Metadata', 'omitStages: [RequestReceived]');
    const heads: unknown[] = [];
    const response = { statusCode: 200, headersSent: false, writeHead: (...head: unknown[]) => heads.push(head) };
    const one = exchange({ response });
    auditor.requestReceived(one, ask());
    auditor.responseStarted(one);
    expect(lines).toEqual([]);
    response.writeHead(206);
    response.writeHead(206);
    expect(heads).toHaveLength(2);
    expect(lines.map(({ stage, responseStatus }) => [stage, responseStatus])).toEqual([
      ['ResponseStarted', { metadata: {}, code: 206 }],
    ]);
  });

  describe('of an unauthenticated request omit its credentials', () => {
    const refused = (reported: boolean): void => {
      const response = { statusCode: 200, headersSent: false, writeHead: jest.fn() };
      const one = exchange({ headers: { authorization: 'Bearer hidden' }, socket: undefined, response });
      make('RequestResponse').authenticationFailed(one, ask());
      expect(lines).toEqual([]);
      const { status } = newUnauthorized('Unauthorized');
      if (reported) answer(one, status);
      (response.writeHead as (code: number) => void)(401);
      expect(JSON.stringify(lines)).not.toContain('hidden');
    };

    test('and contain the response', () => {
      refused(true);
      expect(lines).toEqual([
        expect.objectContaining({
          stage: 'ResponseStarted',
          responseStatus: {
            metadata: {},
            status: 'Failure',
            message: 'Unauthorized',
            reason: 'Unauthorized',
            code: 401,
          },
          responseObject: expect.objectContaining({ kind: 'Status', code: 401 }) as unknown,
        }),
      ]);
    });

    test('and contain the attempted methods if the client accepts no media type', () => {
      refused(false);
      expect(lines[0]).toMatchObject({
        responseStatus: { metadata: {}, message: 'Authentication failed, attempted: bearer', code: 401 },
      });
    });
  });

  test('contain a thrown error before it is sent', () => {
    const auditor = make('RequestResponse', 'omitStages: [RequestReceived]');
    const one = exchange({ response: { statusCode: 200, headersSent: false } });
    auditor.requestReceived(one, ask());
    const error = newForbidden({ group: '', resource: 'configmaps' }, 'c', 'no');
    auditor.responseComplete(one, error);
    const { kind: _k, apiVersion: _v, ...status } = error.status;
    expect(lines).toEqual([expect.objectContaining({ responseStatus: status, responseObject: error.status })]);
  });

  test('record a program error in the Panic stage', () => {
    const auditor = make('Metadata', 'omitStages: [RequestReceived]');
    const one = exchange();
    auditor.requestReceived(one, ask());
    auditor.panicked(one, new TypeError('x is undefined'));
    expect(lines).toEqual([
      expect.objectContaining({
        stage: 'Panic',
        responseStatus: {
          metadata: {},
          status: 'Failure',
          message: "APIServer panic'd: x is undefined",
          reason: 'InternalError',
          code: 500,
        },
      }),
    ]);
  });

  test('record a client that disconnects before the response', () => {
    const auditor = make('Metadata', 'omitStages: [RequestReceived]');
    const one = exchange({ response: { statusCode: 200, headersSent: false } });
    auditor.requestReceived(one, ask());
    auditor.responseComplete(one, undefined);
    expect(lines[0]).toMatchObject({
      responseStatus: { metadata: {}, status: 'Success', message: 'Connection closed early', code: 200 },
    });
  });

  const addresses: readonly (readonly [string, Record<string, string>, readonly string[]])[] = [
    ['forwarded and real', { 'x-forwarded-for': '1.1.1.1', 'x-real-ip': '2.2.2.2' }, ['1.1.1.1', '2.2.2.2', '9.9.9.9']],
    ['real one forwarded too', { 'x-forwarded-for': '1.1.1.1', 'x-real-ip': '1.1.1.1' }, ['1.1.1.1', '9.9.9.9']],
    ['no addresses', { 'x-forwarded-for': 'a, ::1,', 'x-real-ip': 'b' }, ['::1', '9.9.9.9']],
    ['the peer is the last proxy', { 'x-forwarded-for': '9.9.9.9, 9.9.9.9' }, ['9.9.9.9', '9.9.9.9']],
  ];
  test.each(addresses)('contain the source IPs: %s', (_name, headers, ips) => {
    const one = exchange({ headers });
    make('Metadata').requestReceived(one, ask());
    expect(lines[0]?.['sourceIPs']).toEqual(ips);
  });

  test('omit the text of an error that quotes a secret', () => {
    const auditor = make('RequestResponse', 'omitStages: [RequestReceived]');
    const one = exchange();
    Object.assign(one.info, { resource: 'secrets' });
    auditor.requestReceived(one, ask());
    const cause = { reason: 'FieldValueInvalid', message: 'Invalid value: "hidden"', field: 'data' };
    const error = new ApiError(422, 'Invalid', 'Secret "s" is invalid: "hidden"', { name: 's', causes: [cause] });
    answer(one, error.status);
    auditor.responseComplete(one, undefined);
    expect(JSON.stringify(lines)).not.toContain('hidden');
    expect(lines[0]).toMatchObject({
      responseStatus: { code: 422, details: { name: 's', causes: [{ field: 'data' }] } },
    });
  });
});

test('managed fields are omitted from lists and tables too', () => {
  const object = { metadata: { name: 'a', managedFields: [] } };
  const bare = { metadata: { name: 'a' } };
  expect(withoutManagedFields({ items: [object] })).toEqual({ items: [bare] });
  expect(withoutManagedFields({ rows: [{ cells: [], object }, { cells: [] }] })).toEqual({
    rows: [{ cells: [], object: bare }, { cells: [] }],
  });
});

describe('the log file', () => {
  let folder: string;
  const clock = new FakeClock();
  const open = (over: Partial<ConstructorParameters<typeof LogFile>[0]> = {}): LogFile =>
    new LogFile({
      path: join(folder, 'audit.log'),
      maxBytes: 0,
      maxBackups: 0,
      maxAgeDays: 0,
      clock,
      onError: (e) => {
        throw e;
      },
      ...over,
    });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'audit-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  test('appends to an existing file', () => {
    for (const line of ['a', 'b']) {
      const file = open();
      file.write(line);
      file.close();
    }
    expect(readFileSync(join(folder, 'audit.log'), 'utf8')).toBe('a\nb\n');
  });

  test('is rotated when full, and the oldest backups are removed', () => {
    const file = open({ maxBytes: 10, maxBackups: 2 });
    for (let i = 0; i < 5; i++) {
      file.write(`${i}-456789`);
      file.flush();
      clock.advance(1000);
    }
    file.close();
    const names = readdirSync(folder).sort();
    expect(names).toHaveLength(3);
    expect(names[0]).toMatch(/^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/);
    expect(names.map((name) => readFileSync(join(folder, name), 'utf8')[0])).toEqual(['2', '3', '4']);
  });

  test('removes old backups by age', () => {
    const file = open({ maxBytes: 10, maxAgeDays: 1 });
    for (const line of ['1-456789', '2-456789', '3-456789']) {
      file.write(line);
      file.flush();
      clock.advance(2 * 86_400_000);
    }
    file.close();
    expect(readdirSync(folder)).toHaveLength(2);
  });

  test('drops lines while it cannot be rotated, and continues once it can', () => {
    const failures: unknown[] = [];
    const file = open({ maxBytes: 10, onError: (error) => failures.push(error) });
    const line = (text: string): void => {
      file.write(text);
      file.flush();
    };
    line('1-456789');
    rmSync(folder, { recursive: true });
    line('2-456789');
    expect(failures).toEqual([expect.objectContaining({ code: 'ENOENT' })]);
    // Takes the lowest free file descriptor.
    const others = join(tmpdir(), `audit-others-${process.pid}`);
    const descriptor = openSync(others, 'w');
    try {
      line('3-456789');
      expect(failures).toHaveLength(2);
      expect(readFileSync(others, 'utf8')).toBe('');
    } finally {
      closeSync(descriptor);
      rmSync(others);
    }
    mkdirSync(folder);
    line('4-456789');
    file.close();
    expect(failures).toHaveLength(2);
    expect(readFileSync(join(folder, 'audit.log'), 'utf8')).toBe('4-456789\n');
  });
});
