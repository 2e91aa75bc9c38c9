import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../../request/context.js';
import { makeCertificateRequest } from '../../../../../test/fakes/pki/certificate-request.js';
import { generateKey, createCertificate } from '../../../../pki/certificates.js';
import { signingRequestApprovalStrategy, signingRequestStatusStrategy, signingRequestStrategy } from './strategy.js';
import { certificateSigningRequests } from './type.js';

const NOW = Date.UTC(2026, 0, 1);
const user = { name: 'jane', uid: 'u', groups: ['devs'], extra: { b: ['2'], a: ['1'] } };
const context = { user, receivedAt: NOW } as Partial<RequestContext> as RequestContext;
const b64 = (text: string): string => Buffer.from(text).toString('base64');
const good = b64(makeCertificateRequest({ commonName: 'x' }));
const approved = { type: 'Approved', status: 'True', reason: 'R' };

function request(spec: Record<string, unknown> = {}, status: Record<string, unknown> = {}): KubeObject {
  return {
    metadata: { name: 'r', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { request: good, signerName: 'a.b/c', usages: ['client auth'], ...spec },
    status,
  } as KubeObject;
}

test('the server sets the requester, and nothing is approved at creation', () => {
  const object = request(
    { username: 'evil', groups: ['system:masters'], extra: { x: ['y'] } },
    { conditions: [approved] },
  );
  signingRequestStrategy.prepareForCreate?.(context, object);
  expect(object['spec']).toMatchObject({ username: 'jane', uid: 'u', groups: ['devs'], extra: { a: ['1'], b: ['2'] } });
  expect(object['status']).toEqual({});
});

describe('creation', () => {
  const cases: readonly (readonly [string, Record<string, unknown>, readonly string[]])[] = [
    ['good', {}, []],
    [
      'forged',
      { request: b64(makeCertificateRequest({ commonName: 'x', forged: true })) },
      ['x509: ECDSA verification failure'],
    ],
    ['usages missing', { usages: [] }, ['spec.usages: Required value']],
    ['usage twice', { usages: ['any', 'any'] }, ['spec.usages[1]: Duplicate value: "any"']],
    ['unknown usage', { usages: ['x'] }, ['spec.usages[0]: Unsupported value: "x"']],
    ['no signer', { signerName: '' }, ['spec.signerName: Required value']],
    ['signer without a path', { signerName: 'a.b' }, ['must be a fully qualified domain and path']],
    ['signer with a bad label', { signerName: 'A.b/c' }, ['validating label "A": a lowercase RFC 1123 label']],
    ['short', { expirationSeconds: 599 }, ['spec.expirationSeconds: Invalid value: 599']],
    [
      'legacy signer',
      { signerName: 'kubernetes.io/legacy-unknown' },
      ['the legacy signerName is not allowed via this API version'],
    ],
  ];
  test.each(cases)('%s', (_name, spec, texts) => {
    const errors = signingRequestStrategy.validateCreate(context, request(spec)).map(String);
    expect(errors).toHaveLength(texts.length);
    texts.forEach((text, i) => {
      expect(errors[i]).toContain(text);
    });
  });
});

test('an update changes only metadata', () => {
  const object = request({ signerName: 'other.io/x' }, { certificate: 'YQ==' });
  const old = request({}, { conditions: [approved] });
  signingRequestStrategy.prepareForUpdate?.(context, object, old);
  expect(object['spec']).toEqual(old['spec']);
  expect(object['status']).toEqual(old['status']);
});

describe('approval', () => {
  const update = (status: Record<string, unknown>, oldStatus: Record<string, unknown> = {}): [KubeObject, string[]] => {
    const object = request({ signerName: 'x.y/z' }, status);
    const old = request({}, oldStatus);
    signingRequestApprovalStrategy.prepareForUpdate?.(context, object, old);
    return [object, signingRequestApprovalStrategy.validateUpdate(context, object, old).map(String)];
  };

  test('sets the condition times and changes only conditions', () => {
    const [object, errors] = update({ conditions: [{ ...approved }], certificate: 'YQ==' });
    expect(errors).toEqual([]);
    const times = { lastUpdateTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' };
    expect(object['status']).toEqual({ conditions: [{ ...approved, ...times }] });
    expect(object['spec']).toMatchObject({ signerName: 'a.b/c' });
  });

  test('is refused after a denial', () => {
    const denied = { type: 'Denied', status: 'True' };
    expect(update({ conditions: [denied, { ...approved }] }, { conditions: [denied] })[1]).toEqual([
      'status.conditions: Invalid value: "Approved": Approved and Denied conditions are mutually exclusive',
    ]);
    expect(update({ conditions: [] }, { conditions: [denied] })[1]).toEqual([
      'status.conditions: Forbidden: updates may not remove a condition of type "Denied"',
    ]);
  });

  test('requires the status True', () => {
    expect(update({ conditions: [{ type: 'Approved', status: 'False' }] })[1]).toEqual([
      'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
    ]);
  });
});

describe('status', () => {
  const { privateKey, publicKey } = generateKey();
  const certificate = b64(
    createCertificate(
      { subject: { commonName: 'x' }, publicKey, usage: 'client', notBefore: NOW, notAfter: NOW + 1 },
      { key: privateKey },
    ),
  );
  const update = (status: Record<string, unknown>, oldStatus: Record<string, unknown>): string[] => {
    const object = request({}, status);
    const old = request({}, oldStatus);
    signingRequestStatusStrategy.prepareForUpdate?.(context, object, old);
    return signingRequestStatusStrategy.validateUpdate(context, object, old).map(String);
  };

  test('sets the certificate only once', () => {
    expect(update({ certificate }, {})).toEqual([]);
    expect(update({}, { certificate })).toEqual([
      'status.certificate: Forbidden: updates may not modify existing certificate content',
    ]);
    expect(update({ certificate: 'YQ==' }, {})).toEqual([
      'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
    ]);
    expect(update({ certificate: good }, {})).toEqual([
      'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"',
    ]);
  });

  test('cannot add an approval', () => {
    expect(update({ conditions: [approved] }, {})).toEqual([
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    ]);
  });
});

test.each([
  ['Pending', {}],
  ['Approved', { conditions: [approved] }],
  ['Approved,Issued', { conditions: [approved], certificate: 'YQ==' }],
  ['Denied,Failed', { conditions: [{ type: 'Denied' }, { type: 'Failed' }] }],
] as const)('the table shows %s', (shown, status) => {
  const { table } = certificateSigningRequests.versions[0]!;
  const cells = table.cells(request({ username: 'jane', expirationSeconds: 3600 }, status), NOW + 5000);
  expect(cells).toEqual(['r', '5s', 'a.b/c', 'jane', '60m', shown]);
});
