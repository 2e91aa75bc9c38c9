import fc from 'fast-check';
import { ApiError } from '../meta/errors.js';
import { deepCopy, type JsonObject, type JsonValue } from '../json/json.js';
import type { FloatLiterals } from '../json/parser.js';
import { goType } from '../scheme/types.js';
import { applyJsonPatch, decodeJsonPatch } from './json-patch.js';
import { applyMergePatch, decodeMergePatch } from './merge-patch.js';
import { applyStrategicMergePatch, decodeStrategicMergePatch } from './strategic-merge.js';

function failure(run: () => unknown): [number, string] {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return [error.code, error.message];
    throw error;
  }
  throw new Error('nothing was thrown');
}

const REJECTED: [number, string] = [422, 'the server rejected our request due to an error in our request'];

describe('JSON patch', () => {
  const apply = (document: JsonObject, patch: JsonValue): JsonValue =>
    applyJsonPatch(document, decodeJsonPatch(JSON.stringify(patch), false).patch);

  const good: [string, JsonObject, JsonObject[], JsonValue][] = [
    ['add', { a: {} }, [{ op: 'add', path: '/a/b', value: 1 }], { a: { b: 1 } }],
    ['add without a value', {}, [{ op: 'add', path: '/a' }], { a: null }],
    ['append', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    ['insert', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['negative index', { a: [1, 2] }, [{ op: 'remove', path: '/a/-1' }], { a: [1] }],
    ['replace of a key that is not there', {}, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
    ['replace of the root', { a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
    ['move', { a: { b: 1 }, c: [] }, [{ op: 'move', from: '/a/b', path: '/c/0' }], { a: {}, c: [1] }],
    [
      'copy is deep',
      { a: { b: [1] } },
      [
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'add', path: '/c/b/0', value: 0 },
      ],
      { a: { b: [1] }, c: { b: [0, 1] } },
    ],
    ['escapes', { 'x/y': { '~': 1 } }, [{ op: 'replace', path: '/x~1y/~0', value: 2 }], { 'x/y': { '~': 2 } }],
    ['test', { a: [1, { b: null }] }, [{ op: 'test', path: '/a', value: [1, { b: null }] }], { a: [1, { b: null }] }],
    ['test of a missing value', {}, [{ op: 'test', path: '/a', value: null }], {}],
  ];
  test.each(good)('%s', (_, document, patch, expected) => {
    const before = deepCopy(document);
    expect(apply(document, patch)).toEqual(expected);
    expect(document).toEqual(before);
  });

  const bad: [string, JsonObject, JsonObject[]][] = [
    ['unknown operation', {}, [{ op: 'merge', path: '/a' }]],
    ['no path', {}, [{ op: 'add', value: 1 }]],
    ['missing parent', {}, [{ op: 'add', path: '/a/b', value: 1 }]],
    ['parent is a text', { a: 'x' }, [{ op: 'add', path: '/a/b', value: 1 }]],
    ['remove of nothing', {}, [{ op: 'remove', path: '/a' }]],
    ['index beyond the end', { a: [] }, [{ op: 'add', path: '/a/1', value: 1 }]],
    ['no index', { a: [] }, [{ op: 'add', path: '/a/x', value: 1 }]],
    ['failed test', { a: 1 }, [{ op: 'test', path: '/a', value: 2 }]],
    ['test of another type', { a: 1 }, [{ op: 'test', path: '/a', value: '1' }]],
    ['inherited names are no keys', {}, [{ op: 'remove', path: '/toString' }]],
    [
      'copies grow too large',
      { a: ['x'.repeat(2_000_000)] },
      [
        { op: 'copy', from: '/a', path: '/b' },
        { op: 'copy', from: '/a', path: '/c' },
      ],
    ],
  ];
  test.each(bad)('%s', (_, document, patch) => {
    expect(failure(() => apply(document, patch))).toEqual(REJECTED);
  });

  const malformed: [string, boolean, [number, string]][] = [
    ['{}', false, [400, 'json: cannot unmarshal object into Go value of type jsonpatch.Patch']],
    [
      '{}',
      true,
      [400, 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'],
    ],
    ['["a"]', false, [400, 'json: cannot unmarshal string into Go value of type jsonpatch.Operation']],
    [
      '[{"op":1}]',
      true,
      [400, 'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string'],
    ],
    ['[', true, [400, 'error decoding patch: unexpected end of JSON input']],
    [
      JSON.stringify(Array(10001).fill({ op: 'add' })),
      true,
      [413, 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001'],
    ],
  ];
  test.each(malformed)('%.20s (strict %s)', (body, strict, expected) => {
    expect(failure(() => decodeJsonPatch(body, strict))).toEqual(expected);
  });

  test('reports strict errors', () => {
    expect(decodeJsonPatch('[{"op":"add","op":"add","path":"/a","x":1}]', true).strictErrors).toEqual([
      'json patch duplicate field "[0].op"',
      'json patch unknown field "[0].x"',
    ]);
  });
});

describe('JSON merge patch', () => {
  const cases: [string, JsonObject, JsonObject | JsonValue[], JsonValue][] = [
    ['merges objects', { a: { b: 1, c: 2 } }, { a: { b: null, d: 3 } }, { a: { c: 2, d: 3 } }],
    ['replaces lists', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['nulls in what is new', {}, { a: { b: null, c: [{ d: null }, null] } }, { a: { c: [{}, null] } }],
    ['a list over an object keeps its nulls', { a: {} }, { a: [{ d: null }] }, { a: [{ d: null }] }],
    ['an object over a list', { a: [1] }, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
    ['a list over everything', { a: 1 }, [{ b: null }], [{}]],
  ];
  test.each(cases)('%s', (_, document, patch, expected) => {
    const before = deepCopy(document);
    expect(applyMergePatch(document, patch)).toEqual(expected);
    expect(document).toEqual(before);
  });

  const malformed: [string, boolean, string][] = [
    ['[]', true, 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['"a"', false, 'Invalid JSON Patch'],
    ['null', true, 'Invalid JSON Patch'],
    ['{', true, 'error decoding patch: unexpected end of JSON input'],
    ['{', false, 'Invalid JSON Patch'],
  ];
  test.each(malformed)('%s (strict %s)', (body, strict, message) => {
    expect(failure(() => decodeMergePatch(body, strict))).toEqual([400, message]);
  });

  test('applying a patch twice has the same result as once', () => {
    const { object } = fc.letrec<{ object: JsonObject }>((tie) => ({
      object: fc.dictionary(
        fc.constantFrom('a', 'b', 'c'),
        fc.oneof({ maxDepth: 4 }, fc.constantFrom<JsonValue>(null, 1, 'x', [1], [null]), tie('object')),
      ),
    }));
    fc.assert(
      fc.property(object, object, (document, patch) => {
        const once = applyMergePatch(document, patch) as JsonObject;
        expect(applyMergePatch(once, patch)).toEqual(once);
      }),
    );
  });
});

describe('strategic merge patch', () => {
  const pod = goType({ group: '', version: 'v1', kind: 'Pod' });
  if (pod === undefined) throw new Error('pods have a type');
  const apply = (object: JsonObject, patch: JsonObject): JsonObject => applyStrategicMergePatch(object, patch, pod);
  const containers = (...list: JsonObject[]): JsonObject => ({ spec: { containers: list } });
  const a: JsonObject = { name: 'a', image: '1' };
  const b: JsonObject = { name: 'b', image: '1' };

  const cases: [string, JsonObject, JsonObject, JsonObject][] = [
    [
      'merges a list by its key',
      containers(a, b),
      containers({ name: 'b', image: '2' }),
      containers(a, { name: 'b', image: '2' }),
    ],
    ['adds before what only the server has', containers(a), containers({ name: 'c' }), containers({ name: 'c' }, a)],
    ['deletes an element', containers(a, b), containers({ name: 'a', $patch: 'delete' }), containers(b)],
    ['replaces a list', containers(a, b), containers({ $patch: 'replace' }, { name: 'c' }), containers({ name: 'c' })],
    [
      'orders a list',
      containers(a, b),
      { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } },
      containers(b, a),
    ],
    [
      'replaces a map',
      { metadata: { labels: { x: '1' } } },
      { metadata: { labels: { $patch: 'replace', y: '2' } } },
      { metadata: { labels: { y: '2' } } },
    ],
    [
      'deletes a map',
      { metadata: { labels: { x: '1' } } },
      { metadata: { labels: { $patch: 'delete' } } },
      { metadata: { labels: {} } },
    ],
    [
      'removes by null',
      { metadata: { labels: { x: '1', y: '2' } } },
      { metadata: { labels: { x: null, z: null } } },
      { metadata: { labels: { y: '2' } } },
    ],
    [
      'merges primitive lists',
      { metadata: { finalizers: ['a', 'b'] } },
      { metadata: { finalizers: ['c', 'b'] } },
      { metadata: { finalizers: ['c', 'a', 'b'] } },
    ],
    [
      'deletes from primitive lists',
      { metadata: { finalizers: ['a', 'b'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } },
      { metadata: { finalizers: ['b'] } },
    ],
    [
      'replaces lists without a strategy',
      { spec: { tolerations: [{ key: 'a' }] } },
      { spec: { tolerations: [{ key: 'b' }] } },
      { spec: { tolerations: [{ key: 'b' }] } },
    ],
    [
      'retains keys',
      { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
      { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/' } }] } },
      { spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] } },
    ],
  ];
  test.each(cases)('%s', (_, object, patch, expected) => {
    const before = deepCopy(object);
    expect(apply(object, deepCopy(patch))).toEqual(expected);
    expect(object).toEqual(before);
  });

  test('leaves the patch in the form that errors print', () => {
    const patch: JsonObject = { spec: { $retainKeys: ['hostname'], hostname: { a: null, b: 1 } } };
    apply({ spec: { hostname: 'x' } }, patch);
    expect(patch).toEqual({ spec: { hostname: { b: 1 } } });
  });

  const bad: [string, JsonObject, JsonObject, [number, string]][] = [
    [
      'no merge key',
      containers(a),
      containers({ image: '1' }),
      [500, 'map: map[image:1] does not contain declared merge key: name'],
    ],
    [
      'unknown directive',
      containers(a),
      { $patch: 'x', a: 1 },
      [500, 'unknown patch type: x in map: map[$patch:x a:1]'],
    ],
    [
      'retained keys without one that is set',
      { spec: { volumes: [{ name: 'v' }] } },
      { spec: { volumes: [{ name: 'v', $retainKeys: ['name'], emptyDir: {} }] } },
      [400, 'invalid patch format of retainKeys'],
    ],
    ['order without list name', {}, { $setElementOrder: [] }, [400, 'invalid patch format of setElementOrder list']],
    [
      'delete list without name',
      {},
      { $deleteFromPrimitiveList: ['a'] },
      [400, 'invalid patch format of primitive list'],
    ],
    [
      'order and list disagree',
      containers(a),
      { spec: { '$setElementOrder/containers': [{ name: 'b' }], containers: [{ name: 'c' }] } },
      [500, "The order in patch list:\n[map[name:c]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n"],
    ],
    [
      'unknown field of both',
      { spec: { x: {} } },
      { spec: { x: {} } },
      [500, 'unable to find api field in struct PodSpec for the json field "x"'],
    ],
    ['lists of lists', { metadata: { finalizers: [['a']] } }, { metadata: { finalizers: [['b']] } }, REJECTED],
    [
      'elements of several types',
      { metadata: { finalizers: ['a'] } },
      { metadata: { finalizers: [1] } },
      [500, 'list element types are not identical: [[a] [1]]'],
    ],
    [
      'an order of what has no merge key',
      { spec: { tolerations: [{ key: 'a' }] } },
      { spec: { '$setElementOrder/tolerations': [], tolerations: [] } },
      [500, 'map: map[key:a] does not contain declared merge key: '],
    ],
    [
      'an order for nothing',
      containers(a),
      { spec: { '$setElementOrder/containers': [{ name: 'a' }], containers: null } },
      [500, 'expected a []interface {}, but received a %!s(<nil>)'],
    ],
  ];
  test.each(bad)('%s', (_, object, patch, expected) => {
    expect(failure(() => apply(object, patch))).toEqual(expected);
  });

  test('refuses a patch that is not an object, and reports duplicate fields', () => {
    expect(failure(() => decodeStrategicMergePatch('[]', true))).toEqual([
      400,
      'json: cannot unmarshal array into Go value of type map[string]interface {}',
    ]);
    expect(decodeStrategicMergePatch('{"a":1,"a":2}', true).strictErrors).toEqual(['duplicate field "a"']);
  });
});

describe('literals of scalars', () => {
  const patched = (document: JsonObject, body: string): JsonValue => {
    const { patch, literals } = decodeJsonPatch(body, false);
    return literals.resolve(applyJsonPatch(document, patch), new Map());
  };

  test('a JSON patch test compares literals', () => {
    const test = (value: string): string => `[{"op":"test","path":"/a","value":${value}}]`;
    expect(patched({ a: 1 }, test('1'))).toEqual({ a: 1 });
    expect(failure(() => patched({ a: 1 }, test('1.0')))).toEqual(REJECTED);
    expect(patched({ a: 'x<y' }, test('"x\\u003cy"'))).toEqual({ a: 'x<y' });
    expect(failure(() => patched({ a: 'x<y' }, test('"x<y"')))).toEqual(REJECTED);
    expect(failure(() => patched({ a: 'A' }, test('"\\u0041"')))).toEqual(REJECTED);
    const both = '[{"op":"add","path":"/a","value":[1.0]},{"op":"test","path":"/a/0","value":1.0}]';
    expect(patched({}, both)).toEqual({ a: [1] });
  });

  test('escapes in operations, paths and values are decoded', () => {
    expect(patched({}, '[{"op":"\\u0061dd","path":"\\/a","value":"\\u0062"}]')).toEqual({ a: 'b' });
  });

  test('errors print literals, and resolve collects the floats', () => {
    const { patch, literals } = decodeMergePatch('{"a":{"b":1.0,"c":"\\u0041<"},"d":1.5}', true);
    const merged = applyMergePatch({ a: { e: 2 } }, patch) as { a: JsonObject };
    expect(literals.show(merged.a['b'])).toBe('1.0');
    expect(literals.show(merged.a['c'])).toBe('"\\u0041\\u003c"');
    expect(literals.show('<')).toBe('"\\u003c"');
    const floats: FloatLiterals = new Map();
    const resolved = literals.resolve(merged, floats) as { a: JsonObject };
    expect(resolved).toEqual({ a: { b: 1, c: 'A<', e: 2 }, d: 1.5 });
    expect(floats).toEqual(new Map([[resolved.a, new Map([['b', '1.0']])]]));
  });
});

describe('a strategic merge of lists', () => {
  const pod = goType({ group: '', version: 'v1', kind: 'Pod' });
  if (pod === undefined) throw new Error('no type');

  /** Go's way to remove duplicates, whose order clients see. */
  function deduplicated(given: readonly string[]): string[] {
    const list = [...given];
    let last = list.length - 1;
    for (let i = 0; i < last; i++) {
      for (let j = i + 1; j <= last; j++) {
        if (list[i] !== list[j]) continue;
        list[j] = list[last] ?? '';
        list.length = last;
        last--;
        j--;
      }
    }
    return list;
  }

  test('of primitives has the elements that Go leaves', () => {
    const values = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(values, values, (before, after) => {
        const merged = applyStrategicMergePatch(
          { metadata: { finalizers: before } },
          { metadata: { finalizers: [...after] } },
          pod,
        );
        const { finalizers } = merged['metadata'] as { finalizers: string[] };
        expect([...finalizers].sort()).toEqual(deduplicated([...before, ...after]).sort());
      }),
    );
  });

  test('goes on with the next element of a key when the first has lost it', () => {
    const merged = applyStrategicMergePatch(
      { spec: { containers: [{ name: 'a', image: '1' }, { name: 'a', image: '2' }, { name: 'b' }] } },
      { spec: { containers: [{ name: 'a', image: '3' }, { name: 'c' }, { name: 'b', $patch: 'delete' }] } },
      pod,
    );
    expect(merged).toEqual({
      spec: { containers: [{ name: 'a', image: '3' }, { name: 'a', image: '2' }, { name: 'c' }] },
    });
  });
});
