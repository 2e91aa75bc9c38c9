import fc from 'fast-check';
import { HpackDecoder } from './decoder.js';
import { EMPTY_TABLE, maxFieldBytes, statusRoom, writeField, writeStatus } from './encoder.js';
import { HpackError } from './error.js';
import { STATIC_TABLE } from './static-table.js';

const NO_LIMIT = 1 << 20;

function decode(decoder: HpackDecoder, hex: string): [string, string][] | undefined {
  return decoder.decode(Buffer.from(hex, 'hex'), NO_LIMIT)?.map(({ name, value }) => [name, value]);
}

const EXAMPLE = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'www.example.com'],
];

describe('examples of RFC 7541, appendix C', () => {
  test.each([
    ['C.2.1', '400a637573746f6d2d6b65790d637573746f6d2d686561646572', [['custom-key', 'custom-header']]],
    ['C.2.2', '040c2f73616d706c652f70617468', [[':path', '/sample/path']]],
    ['C.2.3', '100870617373776f726406736563726574', [['password', 'secret']]],
    ['C.2.4', '82', [[':method', 'GET']]],
  ])('%s', (_name, hex, fields) => {
    expect(decode(new HpackDecoder(), hex)).toEqual(fields);
  });

  const three = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/index.html'],
    [':authority', 'www.example.com'],
    ['custom-key', 'custom-value'],
  ];
  test.each([
    [
      'C.3: plain',
      [
        '828684410f7777772e6578616d706c652e636f6d',
        '828684be58086e6f2d6361636865',
        '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
      ],
    ],
    [
      'C.4: Huffman',
      [
        '828684418cf1e3c2e5f23a6ba0ab90f4ff',
        '828684be5886a8eb10649cbf',
        '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
      ],
    ],
  ])('%s', (_name, blocks) => {
    const decoder = new HpackDecoder();
    expect(blocks.map((block) => decode(decoder, block))).toEqual([
      EXAMPLE,
      [...EXAMPLE, ['cache-control', 'no-cache']],
      three,
    ]);
  });
});

test('decodes every entry of the static table', () => {
  const decoder = new HpackDecoder();
  for (let i = 1; i <= STATIC_TABLE.length; i++) {
    expect(decode(decoder, (0x80 + i).toString(16))).toEqual([STATIC_TABLE[i - 1]]);
  }
});

describe('refuses an invalid header block', () => {
  test.each([
    ['index 0', '80'],
    ['an index beyond the tables', 'be'],
    ['an index that does not end', 'ffffff'],
    ['an index of 40 bits', 'ffffffffffff0f'],
    ['a name that does not end', '4005616263'],
    ['a value that does not end', '4001610561'],
    ['no value', '400161'],
    ['the end of strings within one', '40016184ffffffff'],
    ['padding of more than seven bits', '4001618207ff'],
    ['padding of zeros', '4001618100'],
    ['a table of more than 4096 bytes', '3fe21f'],
    ['a table that changes within a block', '8220'],
  ])('%s', (_name, hex) => {
    expect(() => decode(new HpackDecoder(), hex)).toThrow(HpackError);
  });
});

describe('the dynamic table', () => {
  const literal = (name: string, value: string): Buffer => {
    const out = Buffer.alloc(3 + name.length + value.length);
    out[0] = 0x40;
    out[1] = name.length;
    out.write(name, 2, 'latin1');
    out[2 + name.length] = value.length;
    out.write(value, 3 + name.length, 'latin1');
    return out;
  };

  test('drops the oldest fields beyond its size', () => {
    const decoder = new HpackDecoder();
    // 4096 bytes have room for 31 fields of 132 bytes.
    for (let i = 0; i < 500; i++) decoder.decode(literal('n', String(i).padStart(99, '0')), NO_LIMIT);
    const at = (index: number): string | undefined => decoder.decode(Buffer.of(0x80 | index), NO_LIMIT)?.[0]?.value;
    expect([at(62), at(92)].map(Number)).toEqual([499, 469]);
    expect(() => at(93)).toThrow('invalid field index 93');
  });

  test('a field that does not fit empties it', () => {
    const decoder = new HpackDecoder();
    decoder.decode(literal('a', 'b'), NO_LIMIT);
    const large = Buffer.concat([Buffer.from('40016e7fe11f', 'hex'), Buffer.alloc(4192, 0x61)]);
    expect(decoder.decode(large, NO_LIMIT)?.[0]?.value.length).toBe(4192);
    expect(() => decode(decoder, 'be')).toThrow(HpackError);
  });

  test('a smaller size drops fields', () => {
    const decoder = new HpackDecoder();
    decoder.decode(literal('a', 'b'), NO_LIMIT);
    expect(decode(decoder, '20')).toEqual([]);
    expect(() => decode(decoder, 'be')).toThrow(HpackError);
  });

  test('is updated by a header list with too many fields', () => {
    const decoder = new HpackDecoder();
    const two = Buffer.concat([literal('a', 'b'), literal('c', 'd')]);
    expect(decoder.decode(two, NO_LIMIT, 2)).toHaveLength(2);
    expect(decoder.decode(Buffer.concat([two, two]), NO_LIMIT, 3)).toBeUndefined();
    expect(decode(decoder, 'be')).toEqual([['c', 'd']]);
  });

  test('is updated by a header list that is too large', () => {
    const decoder = new HpackDecoder();
    expect(decoder.decode(Buffer.concat([literal('a', 'b'), literal('c', 'd')]), 40)).toBeUndefined();
    expect(decode(decoder, 'bebf')).toEqual([
      ['c', 'd'],
      ['a', 'b'],
    ]);
  });
});

test.each([
  ['Upper', 'x', false],
  ['', 'x', false],
  ['a b', 'x', false],
  ['a', 'x\0', false],
  ['a', 'x\r\ny', false],
  ['a', 'x\x01', false],
  ['a', 'x\x7f', false],
  ['a', ' x', true],
  ['a', 'x\ty\t', true],
  ['a', '', true],
  [':path', '/', true],
  ['a', 'ä', true],
])('a field %j: %j is valid: %s', (name, value, valid) => {
  const block = Buffer.concat([
    Buffer.of(0, name.length),
    Buffer.from(name),
    Buffer.of(value.length),
    Buffer.from(value, 'latin1'),
  ]);
  expect(new HpackDecoder().decode(block, NO_LIMIT)?.[0]?.valid).toBe(valid);
});

test('written fields are decoded unchanged', () => {
  const text = fc.stringMatching(/^[\x20-\xff]{0,300}$/);
  const name = fc.stringMatching(/^[a-z-]{1,40}$/);
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), fc.array(fc.tuple(name, text)), (status, fields) => {
      const room = fields.reduce((sum, [key, value]) => sum + maxFieldBytes(key, value), statusRoom + 1);
      const out = Buffer.alloc(room);
      out[0] = EMPTY_TABLE;
      let at = writeStatus(out, 1, status);
      for (const [key, value] of fields) at = writeField(out, at, key, value);
      expect(decode(new HpackDecoder(), out.toString('hex', 0, at))).toEqual([[':status', String(status)], ...fields]);
    }),
  );
});

test('line breaks in a value become spaces', () => {
  const out = Buffer.alloc(64);
  const end = writeField(out, 0, 'warning', 'one\r\ntwo\0');
  expect(decode(new HpackDecoder(), out.toString('hex', 0, end))).toEqual([['warning', 'one  two ']]);
});

test('any bytes are decoded or throw an HpackError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        new HpackDecoder().decode(Buffer.from(bytes), NO_LIMIT);
      } catch (error) {
        expect(error).toBeInstanceOf(HpackError);
      }
    }),
    { numRuns: 3000 },
  );
});
