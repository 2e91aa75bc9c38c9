import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import type protobuf from 'protobufjs';
import { parseJson } from '../json/decode.js';
import { deepEqual, isObject, type JsonObject, type JsonValue } from '../json/json.js';
import { decodeCbor } from '../../../test/fakes/apimachinery/decode-cbor.js';
import { cborListHead, encodeCbor, encodeCborEvent, selfDescribed } from '../cbor/cbor.js';
import type { RawTypes } from '../scheme/types.js';
import { encodeWatchEvent, ProtobufCodec, readEnvelope } from './protobuf.js';
import { decodeCborBody, decodeCborPatch, decodeProtobufBody } from './body.js';

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const goTypes = read('data/types/types.json') as RawTypes;
const codec = new ProtobufCodec(read('data/protobuf.json') as protobuf.INamespace, goTypes);

/** Recorded from kube-apiserver v1.36.3: the same object in JSON and Protobuf. */
const goldens = read('src/apimachinery/protobuf/goldens.json') as Record<
  string,
  { json: JsonObject; protobuf: string }
>;

/** Removes empty values: JSON has them, Protobuf does not. */
function withoutEmpty(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => withoutEmpty(item) ?? null);
  if (isObject(value)) {
    const entries = Object.entries(value).flatMap(([key, member]) => {
      const kept = member === undefined ? undefined : withoutEmpty(member);
      return kept === undefined ? [] : [[key, kept] as const];
    });
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  }
  return value === null || value === '' || value === 0 || value === false ? undefined : value;
}

describe('Protobuf of kube-apiserver', () => {
  const names = Object.keys(goldens);

  test.each(names)('%s is written byte for byte', (name) => {
    const golden = goldens[name]!;
    expect(Buffer.from(codec.encode(golden.json)).toString('base64')).toBe(golden.protobuf);
  });

  // JSON repeats the type in the items of this list, Protobuf does not.
  test.each(names.filter((name) => name !== 'partials'))('%s is read', (name) => {
    const golden = goldens[name]!;
    const bytes = Buffer.from(golden.protobuf, 'base64');
    const object = codec.decode(bytes);
    expect(withoutEmpty(object)).toEqual(withoutEmpty(golden.json));
    expect(Buffer.from(codec.encode(object)).equals(bytes)).toBe(true);
  });

  test('pointers keep their zeros', () => {
    const pod = codec.decode(Buffer.from(goldens['pod']!.protobuf, 'base64'));
    expect(pod['spec']).toMatchObject({
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [{ securityContext: { privileged: false, runAsUser: 0 }, livenessProbe: { httpGet: { port: 80 } } }],
    });
  });

  test.each(['v1', 'coordination.k8s.io/v1', 'meta.k8s.io/v1', 'policy/v1beta1'])(
    'options that every group version has keep their zeros: %s',
    (apiVersion) => {
      const options = { apiVersion, kind: 'DeleteOptions', gracePeriodSeconds: 0, orphanDependents: false };
      const bytes = codec.encode({ ...options, preconditions: { uid: '' } });
      expect(codec.decode(bytes)).toEqual({ ...options, preconditions: { uid: '' } });
      expect(codec.decode(codec.encode(options))).toEqual(options);
    },
  );

  test('a list is a head, its items and a tail', () => {
    const { json, protobuf: expected } = goldens['leases']!;
    const items = (json['items'] as JsonObject[]).map((item) =>
      codec.encodeItem({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }, item),
    );
    const size = items.reduce((sum, item) => sum + item.length, 0);
    const type = { apiVersion: 'coordination.k8s.io/v1', kind: 'LeaseList' };
    const { head, tail } = codec.encodeList(type, json['metadata'] as JsonObject, size);
    expect(Buffer.concat([head, ...items, tail]).toString('base64')).toBe(expected);
  });

  test('metadata of the older version has the fields of the newer one', () => {
    const encode = (version: string): Buffer => {
      const type = { apiVersion: `meta.k8s.io/${version}`, kind: 'PartialObjectMetadata' };
      return Buffer.from(codec.encodeItem(type, { ...type, metadata: { name: 'a', uid: 'u' } }));
    };
    expect(encode('v1beta1').equals(encode('v1'))).toBe(true);
  });

  test('every kind of the served groups has a message', () => {
    const withoutMessage = Object.keys(goTypes.kinds).filter((key) => {
      if (/^(apiregistration\.k8s\.io|autoscaling|policy)\//.test(key)) return false;
      const slash = key.lastIndexOf('/');
      return !codec.knows({ apiVersion: key.slice(0, slash), kind: key.slice(slash + 1) });
    });
    expect(withoutMessage).toEqual([]);
  });

  test('a watch event is prefixed with its length', () => {
    const object = Buffer.from(goldens['status']!.protobuf, 'base64');
    const event = Buffer.from(encodeWatchEvent('ERROR', object));
    expect(event.readUInt32BE(0)).toBe(event.length - 4);
    expect(event.subarray(4, 11).toString('latin1')).toBe('\n\x05ERROR');
    expect(event.subarray(-object.length).equals(object)).toBe(true);
  });

  test.each<[string, Buffer, string]>([
    ['nothing', Buffer.alloc(0), 'empty data'],
    [
      'JSON',
      Buffer.from('{}'),
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    ],
    ['a truncated message', Buffer.from('k8s\0\x0a\x20', 'latin1'), 'unexpected EOF'],
    [
      'an integer that does not end',
      Buffer.from('k8s\0\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff', 'latin1'),
      'proto: integer overflow',
    ],
    ['only the prefix', Buffer.from('k8s\0', 'latin1'), 'empty body'],
    ['an illegal wire type', Buffer.from('k8s\0\x4f', 'latin1'), 'proto: illegal wireType 7'],
    ['the wrong wire type', Buffer.from('k8s\0\x10\x03', 'latin1'), 'proto: wrong wireType = 0 for field Raw'],
    ['a field without a number', Buffer.from('k8s\0\0\x01', 'latin1'), 'proto: Unknown: illegal tag 0 (wire type 0)'],
    ['the end of no group', Buffer.from('k8s\0\x4c', 'latin1'), 'proto: Unknown: wiretype end group for non-group'],
    ['an open group', Buffer.from('k8s\0\x4b\x08\x02', 'latin1'), 'unexpected EOF'],
    [
      'a length below zero',
      Buffer.from('k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01', 'latin1'),
      'proto: negative length found during unmarshaling',
    ],
    ['an unknown type', Buffer.from('k8s\0\x0a\x04\x0a\x02x1', 'latin1'), 'no Protobuf message for x1, Kind='],
  ])('%s is refused', (_name, bytes, message) => {
    expect(() => decodeProtobufBody(bytes, codec)).toThrow(message);
  });

  // The expectations are the responses of kube-apiserver to a ConfigMap with this content.
  const configMap = (content: string): Buffer => {
    const head = Buffer.from('k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12', 'latin1');
    return Buffer.concat([head, Buffer.from([content.length]), Buffer.from(content, 'latin1')]);
  };

  test.each<[string, string, string]>([
    ['metadata that is a number', '\x08\x03', 'proto: wrong wireType = 0 for field ObjectMeta'],
    ['a map that is a number', '\x10\x03', 'proto: wrong wireType = 0 for field Data'],
    ['a boolean that is a string', '\x22\x01x', 'proto: wrong wireType = 2 for field Immutable'],
    ['seconds that are a text', '\x0a\x05\x42\x03\x0a\x01x', 'proto: wrong wireType = 2 for field Seconds'],
    ['the end of no group', '\x14', 'proto: ConfigMap: wiretype end group for non-group'],
  ])('%s: the error names the field, and the type is known', (_name, content, message) => {
    const type = { apiVersion: 'v1', kind: 'ConfigMap' };
    expect(() => decodeProtobufBody(configMap(content), codec)).toThrow(
      expect.objectContaining({ message, type }) as Error,
    );
  });

  test.each<[string, string, JsonObject]>([
    ['an unknown group is ignored', '\x0a\x03\x0a\x01a\x9b\x06\x08\x02\x9c\x06', { metadata: { name: 'a' } }],
    [
      'a message in parts is merged',
      '\x0a\x0b\x0a\x01x\x5a\x06\x0a\x01a\x12\x01b\x0a\x08\x5a\x06\x0a\x01c\x12\x01d',
      { metadata: { name: 'x', labels: { a: 'b', c: 'd' } } },
    ],
    ['a string given again as empty is empty', '\x0a\x03\x0a\x01x\x0a\x02\x0a\x00', { metadata: {} }],
    ['keys of maps are texts of any wire type', '\x12\x05\x08\x03\x12\x01v', { data: { '\x12\x01v': '' } }],
  ])('%s', (_name, content, expected) => {
    expect(codec.decode(configMap(content))).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', ...expected });
  });

  test('an invalid apiVersion is replaced by that of the fallback, and the content of another type is dropped', () => {
    const fallback = { apiVersion: 'v1', kind: 'ConfigMap' };
    const decode = (type: string): JsonObject =>
      codec.decode(
        Buffer.from(`k8s\0\x0a${String.fromCharCode(type.length)}${type}\x12\x02\x08\x03`, 'latin1'),
        fallback,
      );
    expect(decode('\x0a\x05a/b/c\x12\x04Nope')).toEqual({ apiVersion: 'v1', kind: 'Nope' });
    expect(decode('\x0a\x03/v1\x12\x04Nope')).toEqual({ apiVersion: 'v1', kind: 'Nope' });
  });

  test('arbitrary bytes are read or refused, nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const body = Buffer.concat([
          Buffer.from('k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12', 'latin1'),
          Buffer.from([bytes.length % 128]),
          bytes,
        ]);
        try {
          expect(isObject(decodeProtobufBody(body, codec).value)).toBe(true);
        } catch (error) {
          expect((error as Error).name).toBe('JsonError');
        }
      }),
    );
  });

  test('64-bit integers survive', () => {
    const lease = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a', generation: 9007199254740993n, deletionGracePeriodSeconds: -1 },
    };
    const back = codec.decode(codec.encode(lease));
    expect(back['metadata']).toEqual({ name: 'a', generation: 9007199254740993n, deletionGracePeriodSeconds: -1 });
    expect(readEnvelope(codec.encode(lease)).kind).toBe('Pod');
  });
});

describe('CBOR', () => {
  test('strings are byte strings', () => {
    expect(Buffer.from(encodeCbor({ a: 'é' })).toString('hex')).toBe('a1416142c3a9');
  });

  test('an event holds a self-described object', () => {
    const event = encodeCborEvent('ADDED', selfDescribed(encodeCbor({ a: 1 })));
    expect(Buffer.from(event).subarray(0, 4).toString('hex')).toBe('d9d9f7a2');
    expect(decodeCbor(event)).toEqual({ type: 'ADDED', object: { a: 1 } });
  });

  test('a list is a head and its items', () => {
    for (const count of [0, 1, 23, 24, 300, 70_000]) {
      const items = Array.from({ length: count }, () => encodeCbor(7));
      const list = decodeCbor(Buffer.concat([cborListHead({ kind: 'L', metadata: {} }, 'items', count), ...items]));
      expect(list).toEqual({ kind: 'L', metadata: {}, items: new Array(count).fill(7) });
    }
  });

  test.each<[string, string, JsonValue]>([
    ['a text string', '6161', 'a'],
    ['bytes to be base64', 'd64201ff', 'Af8='],
    ['bytes to be base64url', 'd54201ff', 'Af8'],
    ['bytes to be hexadecimal', 'd74201ff', '01ff'],
    ['an unknown tag', 'd8641864', 100],
    ['an indefinite list', '9f0102ff', [1, 2]],
    ['half a float', 'f93e00', 1.5],
    ['a large integer', '1b0020000000000001', 9007199254740993n],
    ['text in parts', '7f61616162ff', 'ab'],
    ['bytes in parts', '5f41614162ff', 'ab'],
    ['a key in parts', 'a17f6161ff02', { a: 2 }],
    ['a key that is null', 'a1f602', { '': 2 }],
    ['an indefinite map', 'bf616101ff', { a: 1 }],
    ['half a float below the smallest exponent', 'f90001', 2 ** -24],
    ['half a negative float', 'f9c000', -2],
  ])('%s is read', (_name, hex, expected) => {
    expect(decodeCbor(Buffer.from(hex, 'hex'))).toEqual(expected);
  });

  test.each<[string, string]>([
    ['undefined', 'f7'],
    ['NaN', 'f97e00'],
    ['infinity', 'f97c00'],
    ['a bignum', 'c249010000000000000000'],
    ['an integer beyond int64', '1b8000000000000000'],
    ['duplicate keys', 'a2416101416102'],
    ['a number as a key', 'a10102'],
    ['text after the end of the document', '0101'],
    ['a simple value', 'f0'],
    ['nothing', ''],
  ])('%s is refused', (_name, hex) => {
    expect(() => decodeCborBody(Buffer.from(hex, 'hex'))).toThrow();
    expect(() => decodeCborBody(Buffer.from(hex, 'hex'))).toThrow(
      expect.objectContaining({ name: 'JsonError' }) as Error,
    );
  });

  // The messages of kube-apiserver, for the item as the body, and as a member of an object whose type is known.
  test.each<[string, string, string]>([
    ['nothing', '', 'EOF'],
    ['a truncated string', '78ff', 'unexpected EOF'],
    ['the tag of self-described CBOR alone', 'd9d9f7', 'unexpected EOF'],
    ['bytes after the end', 'a000', 'cbor: 1 bytes of extraneous data starting at index 1'],
    ['NaN', 'f97e00', 'cbor: data item of cbor type primitives is not accepted by protocol: floating-point NaN'],
    [
      'infinity',
      'f97c00',
      'cbor: data item of cbor type primitives is not accepted by protocol: floating-point infinity',
    ],
    ['a bignum', 'c24101', 'cbor: data item of cbor type tag is not accepted by protocol: bignum'],
    ['a reserved length', '1c', 'cbor: invalid additional information 28 for type positive integer'],
    ['an indefinite tag', 'df', 'cbor: invalid additional information 31 for type tag'],
    ['a simple value too long', 'f818', 'cbor: invalid simple value 24 for type primitives'],
    ['an unmatched end', 'ff', 'cbor: unexpected "break" code'],
    [
      'parts of two kinds',
      '5f41616162ff',
      'cbor: wrong element type UTF-8 text string for indefinite-length byte string',
    ],
    ['more than can be', '9b0000001000000000', 'cbor: exceeded max number of elements 2147483647 for CBOR array'],
    ['a number', '01', 'cbor: cannot unmarshal positive integer into Go value of type v1.TypeMeta'],
    [
      'a list',
      '80',
      'cbor: cannot unmarshal array into Go value of type v1.TypeMeta (cannot decode CBOR array to struct without toarray option)',
    ],
    [
      'a kind given twice',
      'a2446b696e644161446b696e644161',
      'cbor: found duplicate map key "kind" at map element index 1',
    ],
  ])('%s: the type cannot be determined', (_name, hex, message) => {
    expect(() => decodeCborBody(Buffer.from(hex, 'hex'))).toThrow(
      expect.objectContaining({ message: `unable to determine group/version/kind: ${message}` }) as Error,
    );
  });

  test.each<[string, string, string]>([
    [
      'undefined',
      'f7',
      'cbor: data item of cbor type primitives is not accepted by protocol: simple value 23 is not recognized',
    ],
    ['text that is not UTF-8', '61ff', 'cbor: invalid UTF-8 string'],
    [
      'an integer beyond int64',
      '1b8000000000000000',
      "cbor: cannot unmarshal positive integer into Go value of type int64 (9223372036854775808 overflows Go's int64)",
    ],
    ['a number as a key', 'a10102', 'cbor: cannot unmarshal positive integer into Go value of type string'],
    ['a key given twice', 'a2616101416102', 'cbor: found duplicate map key "a" at map element index 1'],
    ['a time that is a number', 'c001', 'cbor: tag number 0 must be followed by text string, got positive integer'],
  ])('%s: the type is known', (_name, hex, message) => {
    const head = encodeCbor({ kind: 'K' });
    const body = Buffer.concat([Buffer.from([0xa2]), head.subarray(1), encodeCbor('spec'), Buffer.from(hex, 'hex')]);
    expect(() => decodeCborBody(body)).toThrow(
      expect.objectContaining({ message, type: { apiVersion: '', kind: 'K' } }) as Error,
    );
    expect(() => decodeCborPatch(body)).toThrow(expect.objectContaining({ message, name: 'JsonError' }) as Error);
  });

  test.each<[string, string]>([
    ['lists', '81'],
    ['tags', 'd9d9f7'],
    ['objects', 'a14161'],
  ])('%s nested over the whole length of a body are refused', (_name, hex) => {
    const body = Buffer.concat([Buffer.from(hex.repeat(300_000), 'hex'), Buffer.from([1])]);
    expect(() => decodeCborBody(body)).toThrow('cbor: exceeded max nested level 10000');
  });

  test('arbitrary bytes are read or refused, nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        try {
          expect(JSON.stringify(decodeCborPatch(bytes))).toBeDefined();
        } catch (error) {
          if ((error as Error).name !== 'JsonError') expect((error as Error).message).toContain('BigInt');
        }
      }),
    );
  });

  test('whole floats are recorded', () => {
    const floatsOf = (hex: string): [JsonValue, unknown][] =>
      [...(decodeCborBody(Buffer.from(hex, 'hex')).floats ?? [])].map(([holder, keys]) => [holder, [...keys]]);
    const one = 'fb3ff0000000000000';
    const minusZero = 'f98000';
    expect(floatsOf(`a26161${one}61628401${minusZero}${one}fb3ff8000000000000`)).toEqual([
      [{ a: 1, b: [1, -0, 1, 1.5] }, [['a', '1.0']]],
      [
        [1, -0, 1, 1.5],
        [
          ['1', '-0.0'],
          ['2', '1.0'],
        ],
      ],
    ]);
    // Neither an integer nor a float that is too large for one.
    expect(floatsOf('a2616101616281fb43f0000000000000')).toEqual([]);
  });

  test('JSON survives a round trip', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value = parseJson(text);
        expect(deepEqual(decodeCbor(encodeCbor(value)), value)).toBe(true);
      }),
    );
  });
});
