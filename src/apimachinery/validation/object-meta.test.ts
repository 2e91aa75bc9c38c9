import type { ObjectMeta, Scope } from '../meta/meta.js';
import {
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isPathSegmentName,
  isPortName,
  isQualifiedName,
  nameIsDnsLabel,
  nameIsDnsSubdomain,
  nameIsPathSegment,
} from './names.js';
import {
  finalizerWarnings,
  validateFieldManager,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from './object-meta.js';

describe('names', () => {
  const checks: [string, (value: string) => string[], string, boolean][] = [
    ['label', isDns1123Label, 'my-name', true],
    ['label with capitals', isDns1123Label, 'My', false],
    ['label with dash at the end', isDns1123Label, 'a-', false],
    ['one character', isDns1123Label, 'a', true],
    ['63', isDns1123Label, 'a'.repeat(63), true],
    ['64', isDns1123Label, 'a'.repeat(64), false],
    ['subdomain', isDns1123Subdomain, 'a.b-c.d', true],
    ['empty part', isDns1123Subdomain, 'a..b', false],
    ['empty', isDns1123Subdomain, '', false],
    ['1035', isDns1035Label, 'a1', true],
    ['1035 digit first', isDns1035Label, '1a', false],
    ['1035 one digit', isDns1035Label, '1', false],
    ['label value', isLabelValue, '', true],
    ['label value with dots', isLabelValue, 'a.B_c-1', true],
    ['label value ends badly', isLabelValue, 'a.', false],
    ['qualified', isQualifiedName, 'example.com/Name', true],
    ['qualified twice', isQualifiedName, 'a/b/c', false],
    ['qualified without name', isQualifiedName, 'a/', false],
    ['port name', isPortName, 'http-1', true],
    ['port name of digits', isPortName, '80', false],
    ['path segment', isPathSegmentName, 'A b:c', true],
    ['path segment with slash', isPathSegmentName, 'a/b', false],
    ['dots', isPathSegmentName, '..', false],
  ];
  test.each(checks)('%s', (_, check, value, ok) => {
    expect(check(value).length === 0).toBe(ok);
  });

  test('names of megabytes are checked in linear time', () => {
    const long = `${'a'.repeat(3_000_000)}!`;
    expect([isDns1123Subdomain(long).length, isQualifiedName(long).length, isLabelValue(long).length]).toEqual([
      2, 2, 2,
    ]);
  });

  test('validates prefixes', () => {
    expect(nameIsDnsSubdomain('abc-', 'prefix')).toEqual([]);
    expect(nameIsDnsSubdomain('abc-')).toHaveLength(1);
    expect(nameIsDnsLabel('-', 'prefix')).toHaveLength(1);
    expect(nameIsPathSegment('..', 'prefix')).toEqual([]);
    expect(isDns1123Label('a.b')).toEqual(['must not contain dots']);
    expect(isDns1123Subdomain('a'.repeat(254))).toEqual(['must be no more than 253 characters']);
    expect(isLabelValue('a'.repeat(64))).toEqual(['must be no more than 63 bytes']);
  });
});

const texts = (meta: ObjectMeta, scope: Scope = 'Namespaced'): string[] =>
  validateObjectMeta(meta, scope, nameIsDnsSubdomain).map((error) => error.toString());

describe('validateObjectMeta', () => {
  const good: ObjectMeta = { name: 'a', namespace: 'n' };
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' };
  const cases: [string, ObjectMeta, string[]][] = [
    ['good', good, []],
    ['no name', { namespace: 'n' }, ['metadata.name: Required value: name or generateName is required']],
    ['no namespace', { name: 'a' }, ['metadata.namespace: Required value']],
    [
      'generation',
      { ...good, generation: -1 },
      ['metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'annotations too large',
      { ...good, annotations: { a: 'x'.repeat(262144) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    ['annotation keys may have capitals', { ...good, annotations: { 'Example.com/A': '' } }, []],
    [
      'owner without anything',
      { ...good, ownerReferences: [{}] },
      [
        'metadata.ownerReferences[0].apiVersion: Required value: must not be empty',
        'metadata.ownerReferences[0].kind: Required value: must not be empty',
        'metadata.ownerReferences[0].name: Required value: must not be empty',
        'metadata.ownerReferences[0].uid: Required value: must not be empty',
      ],
    ],
    [
      'events own nothing',
      { ...good, ownerReferences: [{ ...owner, kind: 'Event', blockOwnerDeletion: true }] },
      [
        'metadata.ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"u","blockOwnerDeletion":true}: /v1, Kind=Event is disallowed from being an owner',
      ],
    ],
    [
      'two controllers',
      {
        ...good,
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, name: 'q', controller: true },
        ],
      },
      [
        'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"u","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q',
      ],
    ],
    [
      'both finalizers',
      { ...good, finalizers: ['orphan', 'foregroundDeletion'] },
      [
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
      ],
    ],
    [
      'managed fields',
      { ...good, managedFields: [{ manager: 'a\tb', operation: 'x', fieldsType: 'y', subresource: 's'.repeat(257) }] },
      [
        'metadata.managedFields[0].operation: Unsupported value: "x": supported values: "Apply", "Update"',
        'metadata.managedFields[0].fieldsType: Invalid value: "y": must be `FieldsV1`',
        'metadata.managedFields[0].manager: Invalid value: "a\\tb": invalid character U+0009 (at position 1)',
        'metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes',
      ],
    ],
  ];
  test.each(cases)('%s', (_, meta, expected) => {
    expect(texts(meta)).toEqual(expected);
  });
  test('cluster scope', () => {
    expect(texts({ name: 'a', namespace: 'n' }, 'Cluster')).toEqual([
      'metadata.namespace: Forbidden: not allowed on this type',
    ]);
  });
  test('validates labels', () => {
    expect(texts({ ...good, labels: { 'a b': '' } })[0]).toMatch(
      /^metadata.labels: Invalid value: "a b": name part must consist/,
    );
    expect(texts({ ...good, labels: { a: '-' } })[0]).toMatch(
      /^metadata.labels: Invalid value: "-": a valid label must be/,
    );
  });
});

describe('validateObjectMetaUpdate', () => {
  const old: ObjectMeta = {
    name: 'a',
    namespace: 'n',
    uid: 'u',
    resourceVersion: '1',
    generation: 2,
    creationTimestamp: '2020-01-01T00:00:00Z',
  };
  const cases: [string, ObjectMeta, ObjectMeta, string[]][] = [
    ['same', old, old, []],
    [
      'no version',
      { ...old, resourceVersion: '' },
      old,
      ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
    ],
    ['generation', { ...old, generation: 1 }, old, ['metadata.generation: Invalid value: 1: must not be decremented']],
    ['uid', { ...old, uid: 'v' }, old, ['metadata.uid: Invalid value: "v": field is immutable']],
    [
      'deletion timestamp',
      { ...old, deletionTimestamp: '2001-01-01T00:00:00Z' },
      old,
      ['metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable'],
    ],
    [
      'deletion timestamp removed',
      old,
      { ...old, deletionTimestamp: '2001-01-01T00:00:00Z' },
      ['metadata.deletionTimestamp: Invalid value: null: field is immutable'],
    ],
    [
      'new finalizers while deleted',
      { ...old, deletionTimestamp: 'x', finalizers: ['b.c/d', 'a.b/c'] },
      { ...old, deletionTimestamp: 'x' },
      [
        'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.b/c", "b.c/d"}',
      ],
    ],
  ];
  test.each(cases)('%s', (_, now, before, expected) => {
    expect(validateObjectMetaUpdate(now, before).map((error) => error.toString())).toEqual(expected);
  });
});

test('finalizerWarnings', () => {
  expect(finalizerWarnings(['orphan', 'example.com/a', 'c', 'a.b', 'old'], ['old'])).toEqual([
    'metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers',
    'metadata.finalizers: "c": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers',
  ]);
});

test.each<[string, string[]]>([
  ['', []],
  ['m'.repeat(128), []],
  ['é'.repeat(64), []],
  ['é'.repeat(65), ['fieldManager: Too long: may not be more than 128 bytes']],
  ['\udcff\udc80', []],
  [`${'m'.repeat(127)}\udcff`, []],
  ['\udcff\t', ['fieldManager: Invalid value: "\\xff\\t": invalid character U+0009 (at position 1)']],
  ['a\tb', ['fieldManager: Invalid value: "a\\tb": invalid character U+0009 (at position 1)']],
  ['é\u200b', ['fieldManager: Invalid value: "é\\u200b": invalid character U+200B (at position 2)']],
])('the errors of field manager %j', (name, errors) => {
  expect(validateFieldManager(name, 'fieldManager').map(String)).toEqual(errors);
});
