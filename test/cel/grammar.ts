import fc from 'fast-check';

/** The type of an expression of the grammar. */
export type Kind =
  'int' | 'uint' | 'double' | 'string' | 'bool' | 'bytes' | 'duration' | 'timestamp' | 'ints' | 'strings' | 'map';

/** Variables, by type. */
export const VARIABLES: Readonly<Record<string, Kind>> = {
  i: 'int',
  j: 'int',
  u: 'uint',
  d: 'double',
  s: 'string',
  t: 'string',
  b: 'bool',
  y: 'bytes',
  du: 'duration',
  ts: 'timestamp',
  li: 'ints',
  ls: 'strings',
  m: 'map',
};

const LITERALS: Readonly<Record<Kind, readonly string[]>> = {
  int: ['0', '1', '-1', '2', '7', '63', '9007199254740993', '9223372036854775807', '-9223372036854775807', '0x1f'],
  uint: ['0u', '1u', '3u', '9007199254740993u', '18446744073709551615u'],
  double: ['0.0', '-0.0', '1.5', '-2.25', '1e30', '9223372036854775808.0', '1e-7', '.5'],
  string: ["''", "'a'", "'b c'", "'ünï☃'", "'12'", "'-3'", "'1.5'", "'true'", "r'\\d'", '"q\\"\\n"', "'a,b,c'"],
  bool: ['true', 'false'],
  bytes: ["b''", "b'a'", "b'\\xff\\x00'", "b'ü'"],
  duration: ["duration('1h')", "duration('-90s')", "duration('1.5ms')", "duration('0s')"],
  timestamp: ["timestamp('2024-02-29T12:00:00Z')", "timestamp('1969-12-31T23:59:59.5Z')", 'timestamp(0)'],
  ints: ['[]', '[1, 2, 3]', '[3, 1, 2, 1]', '[0]'],
  strings: ["['a']", "['b', 'a', 'ü']", "['', '12']"],
  map: ['{}', "{'a': 1, 'b': 2}", "{'ü': -1}"],
};

/** Forms with a placeholder for each part; only those that both engines support. */
const FORMS: Readonly<Record<Kind, readonly string[]>> = {
  int: [
    '{int} + {int}',
    '{int} - {int}',
    '{int} * {int}',
    '{int} / {int}',
    '{int} % {int}',
    '-({int})',
    'size({string})',
    '{strings}.size()',
    'size({map})',
    'size({bytes})',
    '{ints}[{int}]',
    '{map}[{string}]',
    '{map}.a',
    'int({double})',
    'int({uint})',
    'int({timestamp})',
    '{bool} ? {int} : {int}',
    '{timestamp}.getFullYear()',
    '{timestamp}.getDayOfYear()',
    "{timestamp}.getHours('Europe/Berlin')",
    '{duration}.getSeconds()',
    '{string}.indexOf({string})',
  ],
  uint: ['{uint} + {uint}', '{uint} - {uint}', '{uint} * {uint}', '{uint} % {uint}', 'uint({int})', 'uint({double})'],
  double: [
    '{double} + {double}',
    '{double} - {double}',
    '{double} * {double}',
    '{double} / {double}',
    '-({double})',
    'double({int})',
    'double({uint})',
  ],
  string: [
    '{string} + {string}',
    'string({int})',
    'string({bool})',
    'string({uint})',
    'string({bytes})',
    '{strings}[{int}]',
    '{bool} ? {string} : {string}',
    '{string}.charAt({int})',
    '{string}.substring({int})',
    '{string}.lowerAscii()',
    '{string}.upperAscii()',
    '{string}.trim()',
    "{string}.replace('a', {string})",
    '{strings}.join({string})',
  ],
  bool: [
    '{bool} && {bool}',
    '{bool} || {bool}',
    '!({bool})',
    '{bool} ? {bool} : {bool}',
    '{int} < {int}',
    '{int} >= {int}',
    '{int} == {int}',
    '{int} != {int}',
    '{uint} < {uint}',
    '{uint} == {uint}',
    '{double} <= {double}',
    '{double} == {double}',
    '{int} < {double}',
    '{double} > {uint}',
    '{uint} <= {int}',
    'dyn({int}) == dyn({double})',
    'dyn({uint}) == dyn({int})',
    'dyn({string}) == dyn({int})',
    '{string} == {string}',
    '{string} < {string}',
    '{bytes} == {bytes}',
    '{bytes} < {bytes}',
    '{bool} == {bool}',
    '{timestamp} < {timestamp}',
    '{duration} >= {duration}',
    '{ints} == {ints}',
    '{strings} != {strings}',
    '{map} == {map}',
    '{int} in {ints}',
    '{string} in {strings}',
    '{string} in {map}',
    'has({map}.a)',
    '{string}.contains({string})',
    '{string}.startsWith({string})',
    '{string}.endsWith({string})',
    "{string}.matches('^[a-z]*$')",
    '{ints}.all(x, x > {int})',
    '{ints}.exists(x, x == {int} || {bool})',
    '{ints}.exists_one(x, x == {int})',
    '{strings}.all(x, x.size() < {int})',
    '{map}.exists(k, k == {string})',
    '{ints}.all(x, {ints}.exists(z, z == x))',
  ],
  bytes: ['{bytes} + {bytes}', 'bytes({string})'],
  duration: [
    '{duration} + {duration}',
    '{duration} - {duration}',
    '{timestamp} - {timestamp}',
    '{bool} ? {duration} : {duration}',
  ],
  timestamp: ['{timestamp} + {duration}', '{timestamp} - {duration}', '{duration} + {timestamp}'],
  ints: [
    '{ints} + {ints}',
    '[{int}, {int}]',
    '{ints}.filter(x, x < {int})',
    '{ints}.map(x, x + {int})',
    '{ints}.map(x, x > {int}, x * 2)',
    '{strings}.map(x, x.size())',
    '{bool} ? {ints} : {ints}',
  ],
  strings: [
    '{strings} + {strings}',
    '[{string}]',
    '{strings}.filter(x, x != {string})',
    '{string}.split({string})',
    '{ints}.map(x, string(x))',
  ],
  map: ['{{string}: {int}}', '{bool} ? {map} : {map}'],
};

/**
 * Forms that only this engine supports: extensions, optionals, two-variable macros; and those that the second engine (0.6.1) gets wrong: it
 * takes '' for a number, and 'a' for NaN, fails to divide large uints, pads fractions of seconds, counts UTF-16 units, does not search for
 * '' between letters, and misses that the least integer has no opposite.
 */
const OWN_FORMS: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  uint: ['{uint} / {uint}', 'uint({string})'],
  double: ['double({string})'],
  int: [
    'int({string})',
    '{ints}.sum()',
    '{ints}.min()',
    '{ints}.max()',
    '{ints}.lastIndexOf({int})',
    '{map}.?a.orValue({int})',
    '{ints}[?{int}].orValue({int})',
    'optional.of({int}).optMap(x, x + {int}).value()',
    "quantity({string}).compareTo(quantity('1Ki'))",
    'semver({string}).major()',
    'cidr({string}).prefixLength()',
  ],
  string: [
    "'%s is %d'.format([{string}, {int}])",
    "'%.3e %x %s'.format([{double}, {int}, {ints}])",
    'strings.quote({string})',
    '{string}.find({string})',
    'url({string}).getHost()',
    '{string}.replace({string}, {string}, {int})',
    '{string}.replace({string}, {string})',
    'string(ip({string}))',
    'string({timestamp})',
  ],
  bool: [
    '{ints}.isSorted()',
    'sets.contains({ints}, {ints})',
    'sets.intersects({strings}, {strings})',
    'sets.equivalent({ints}, {ints})',
    'isURL({string})',
    'isIP({string})',
    'isCIDR({string})',
    'isQuantity({string})',
    'isSemver({string})',
    '{string}.matches({string})',
    'format.dns1123Label().validate({string}).hasValue()',
    '{ints}.all(p, x, x >= p + {int})',
    '{map}.exists(k, v, v == {int})',
    '{map}.?zz.hasValue()',
    'type({int}) == int',
  ],
  ints: [
    '{ints}.transformList(p, x, x > {int}, p)',
    '{ints}.distinct()',
    '{ints}.sort()',
    '{ints}.reverse()',
    '{ints}.slice(0, {int})',
    '{map}.transformList(k, v, v)',
  ],
  strings: ['{string}.findAll({string})', '{string}.split({string}, {int})'],
  map: ['{map}.transformMap(k, v, v + {int})', "{?'a': {map}.?b}"],
};

/** Numbers that choose one form after the other; zeros once they run out, so that expressions end. */
class Choices {
  private at = 0;
  constructor(private readonly numbers: readonly number[]) {}
  next(bound: number): number {
    return (this.numbers[this.at++] ?? 0) % bound;
  }
  get isEmpty(): boolean {
    return this.at >= this.numbers.length;
  }
}

const OWN_LITERALS: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  int: ['-9223372036854775808'],
  string: ["'😀x'"],
};

function leaf(kind: Kind, choices: Choices, { own = false, variables = VARIABLES }: GrammarOptions): string {
  const leaves = [
    ...Object.entries(variables)
      .filter(([, type]) => type === kind)
      .map(([name]) => name),
    ...LITERALS[kind],
    ...((own ? OWN_LITERALS[kind] : undefined) ?? []),
  ];
  return leaves[choices.next(leaves.length)] ?? '';
}

function build(kind: Kind, choices: Choices, depth: number, options: GrammarOptions): string {
  if (depth === 0 || choices.isEmpty || choices.next(5) === 0) return leaf(kind, choices, options);
  const { own = false, slips = false, more = {} } = options;
  const forms = [...FORMS[kind], ...((own ? OWN_FORMS[kind] : undefined) ?? []), ...(more[kind] ?? [])];
  const form = forms[choices.next(forms.length)] ?? '';
  return form.replaceAll(/\{(\w+)\}/g, (_, part: Kind) => {
    const wanted = slips && choices.next(12) === 0 ? (KINDS[choices.next(KINDS.length)] ?? part) : part;
    const inner = build(wanted, choices, depth - 1, options);
    return /^[\w.']+$/.test(inner) && !/^\.|^-/.test(inner) ? inner : `(${inner})`;
  });
}

export const KINDS = Object.keys(LITERALS) as readonly Kind[];

export interface Sample {
  readonly kind: Kind;
  readonly source: string;
}

export interface GrammarOptions {
  /** Forms that only this engine has. */
  readonly own?: boolean;
  /** Replaces some parts with parts of wrong types. */
  readonly slips?: boolean;
  /** Operands that replace VARIABLES. */
  readonly variables?: Readonly<Record<string, Kind>>;
  /** Forms in addition to the common ones. */
  readonly more?: Readonly<Partial<Record<Kind, readonly string[]>>>;
  /** The type of the expressions; any if undefined. */
  readonly kind?: Kind;
}

/** Returns expressions shaped by the grammar, with their expected type. */
export function expressions(options: GrammarOptions = {}): fc.Arbitrary<Sample> {
  const kinds = options.kind === undefined ? KINDS : [options.kind];
  return fc
    .tuple(fc.constantFrom(...kinds), fc.array(fc.nat(9973), { minLength: 4, maxLength: 60, size: 'max' }))
    .map(([kind, numbers]) => ({ kind, source: build(kind, new Choices(numbers), 5, options) }));
}

/** Pieces of expressions in random order. */
export const debris: fc.Arbitrary<string> = fc
  .array(
    fc.constantFrom(
      ...'( ) [ ] { } . , : ? ! - + * / % < <= > >= == != && || in a self true null 1 1u 2.5 .? [? \' " ` \\ b"x" r\'\\ '.split(
        ' ',
      ),
      '//',
      '\n',
      "'''",
      '😀',
      '\u0000',
      '\ud800',
      'all(x,',
      'x.map(',
      'has(',
      '0x',
      '1e',
      "'\\u12'",
    ),
    { maxLength: 25 },
  )
  .map((parts) => parts.join(' '));
