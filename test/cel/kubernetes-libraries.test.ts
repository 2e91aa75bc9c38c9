import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Double, kubernetesEnvironment, types, type Value } from '../../packages/cel/src/index.js';
import { formatIssues } from '../../packages/cel/src/source.js';
import { ROOT } from '../integration/server.js';

/**
 * Evaluates expressions over generated texts with Annex' engine and with the libraries of Kubernetes, and compares values and errors.
 * ANNEX_CEL_COUNT is the number of texts for each family of functions.
 */
const EVALUATOR = join(process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools'), 'cel-evaluator');
const COUNT = Number(process.env['ANNEX_CEL_COUNT'] ?? 1500);
const SEED = Number(process.env['FC_SEED'] ?? 1);

interface Sample {
  readonly expression: string;
  readonly a: string;
  readonly b: string;
  readonly n: string;
}

const environment = kubernetesEnvironment('stored').extend([
  { name: 'a', type: types.STRING },
  { name: 'b', type: types.STRING },
  { name: 'n', type: types.INT },
]);
const programs = new Map<string, ReturnType<typeof environment.compile>>();

function bitsOf(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  // Go and V8 may have different NaNs.
  return Number.isNaN(value) ? 'NaN' : view.getBigUint64(0).toString(16).padStart(16, '0');
}

function shown(value: Value): string {
  if (typeof value === 'boolean') return `bool ${String(value)}`;
  if (typeof value === 'number' || typeof value === 'bigint') return `int ${String(value)}`;
  if (value instanceof Double) return `double ${bitsOf(value.value)}`;
  return typeof value === 'string' ? `string ${value}` : 'another type';
}

function ours({ expression, a, b, n }: Sample): string {
  let compiled = programs.get(expression);
  if (compiled === undefined) programs.set(expression, (compiled = environment.compile(expression)));
  const { program, failure } = compiled;
  if (program === undefined) return `error ${formatIssues(expression, failure.issues)}`;
  const int = BigInt(n);
  const safe = int >= BigInt(Number.MIN_SAFE_INTEGER) && int <= BigInt(Number.MAX_SAFE_INTEGER);
  const result = program.evaluate({ a, b, n: safe ? Number(int) : int }, 100_000_000);
  return result.kind === 'value' ? shown(result.value) : `error ${result.message}`;
}

function theirs(samples: readonly Sample[]): string[] {
  const input = samples.map((sample) => JSON.stringify(sample)).join('\n');
  const { stdout, stderr, status } = spawnSync(EVALUATOR, { input, encoding: 'utf8', maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(stderr);
  const answers = stdout.trimEnd().split('\n');
  return answers.map((line) => {
    const { type, value = '', error } = JSON.parse(line) as Readonly<Record<string, string | undefined>>;
    if (error !== undefined) return `error ${error}`;
    const isNan = type === 'double' && /^[7f]ff[0-7]*[1-9a-f8]/.test(value) && !/^[7f]ff0{13}$/.test(value);
    return isNan ? 'double NaN' : `${String(type)} ${value}`;
  });
}

/** Returns what differs, at most 20 of them. */
function differences(texts: fc.Arbitrary<string>, expressions: readonly string[], offset: number): readonly object[] {
  const int = fc.oneof(fc.integer(), fc.constantFrom('9223372036854775807', '-9223372036854775808', '0', '1', '-1'));
  const cases = fc.sample(fc.tuple(texts, texts, int), { numRuns: COUNT, seed: SEED + offset });
  const samples = cases.flatMap(([a, b, n]) => expressions.map((expression) => ({ expression, a, b, n: String(n) })));
  const expected = theirs(samples);
  expect(expected).toHaveLength(samples.length);
  return samples
    .map((sample, i) => ({ ...sample, annex: ours(sample), kubernetes: expected[i] }))
    .filter(({ annex, kubernetes }) => annex !== kubernetes)
    .slice(0, 20);
}

const digits = fc.oneof(
  fc.constantFrom('', '0', '00', '1', '10', '100', '1000', '1024', '8', '9223372036854775807', '9223372036854775808'),
  fc.nat({ max: 99_999 }).map(String),
  fc.stringMatching(/^[0-9]{12,24}$/),
);
const fraction = fc.oneof(
  fc.constantFrom('', '', '.', '.0', '.00', '.000', '.5', '.50', '.001', '.0000000001', '.000000000000000000001'),
  digits.map((text) => `.${text}`),
);
const suffix = fc.oneof(
  fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'),
  fc.constantFrom('e0', 'e1', 'e-1', 'E+3', 'e3', 'e-9', 'e-10', 'e18', 'e19', 'e40', 'e-30', 'e007', 'E9'),
  fc.constantFrom('K', 'ki', 'mm', 'e', 'ee1', '+1', '-', 'i', 'e99999999999999999999', ' ', 'x'),
);
const quantities = fc
  .tuple(fc.constantFrom('', '', '', '-', '+'), digits, fraction, suffix)
  .map((parts) => parts.join(''));

const labelParts = fc.constantFrom(
  'a',
  'A',
  '0',
  '-',
  '_',
  '.',
  'é',
  '日',
  '😀',
  ' ',
  '/',
  'a.b',
  'example.com/',
  '\n',
  '',
);
const names = fc.oneof(
  fc.array(labelParts, { maxLength: 8 }).map((parts) => parts.join('')),
  fc
    .tuple(fc.constantFrom('a', 'é', '日'), fc.integer({ min: 20, max: 70 }))
    .map(([text, times]) => text.repeat(times)),
  fc
    .tuple(fc.constantFrom('a', 'é', 'b.c'), fc.integer({ min: 1, max: 130 }))
    .map(([text, n]) => `${text.repeat(n)}/x`),
);

const group = fc.constantFrom(
  '',
  '0',
  '1',
  'ffff',
  'FFFF',
  'fffff',
  '00',
  '10.0.0.0',
  '255.255.255.255',
  '::',
  'g',
  '%eth0',
  '010',
);
const addresses = fc.oneof(
  fc.array(group, { maxLength: 9 }).map((parts) => parts.join(':')),
  fc
    .array(fc.constantFrom('0', '1', '10', '127', '255', '256', '01', '', 'a', '-1'), { maxLength: 5 })
    .map((parts) => parts.join('.')),
  fc.constantFrom(
    '::1',
    '::',
    '::ffff:10.0.0.0',
    '::FFFF:10.0.0.1',
    '127.0.0.1',
    'fe80::1',
    'fe80::1%eth0',
    '2001:db8::1',
    '224.0.0.1',
    'ff02::1',
  ),
);
const prefixes = fc.oneof(
  addresses,
  fc
    .tuple(addresses, fc.constantFrom('0', '8', '24', '32', '33', '64', '104', '128', '129', '-1', '', '08', 'a'))
    .map((pair) => pair.join('/')),
);

const urls = fc
  .tuple(
    fc.constantFrom('', '', 'http:', 'HTTPS:', 'mailto:', ':', 'a+b:', '1a:', '*'),
    fc.constantFrom('', '/', '//', '///', '// '),
    fc.constantFrom(
      '',
      'example.com',
      'a@b',
      'a:b@c',
      '[::1]',
      '[::1]:80',
      '[fe80::1%25en0]',
      'a:80',
      'a:',
      'a:x',
      'é',
      'a b',
      '%41',
      '%zz',
    ),
    fc.constantFrom('', '/', '/a/b', '/a b', '/%2f', '/%41', '/%zz', '/é', '/a;b', '/a:b', 'a:b/c'),
    fc.constantFrom('', '?', '?a=b', '?a=b&a=c&d', '??', '?a;b', '?%zz', '?a=+%20'),
    fc.constantFrom('', '#', '#a', '#%zz', '#a b'),
  )
  .map((parts) => parts.join(''));

const numbers = fc.constantFrom('0', '1', '2', '10', '01', '99999999999999999999', '-1', 'x', '');
const semvers = fc
  .tuple(
    fc.constantFrom('', '', 'v', ' ', '='),
    fc.array(numbers, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.')),
    fc.constantFrom('', '', '-alpha', '-alpha.1', '-alpha.01', '-0', '-', '-a..b', '-é', '-1.2-x'),
    fc.constantFrom('', '', '+build', '+001', '+', '+a.b-c', '+a+b'),
  )
  .map((parts) => parts.join(''));

const times = fc
  .tuple(
    fc.constantFrom('0000', '0001', '1969', '1970', '2024', '9999', '10000', '02024', '-001'),
    fc.constantFrom('01', '02', '12', '00', '13'),
    fc.constantFrom('01', '29', '30', '31', '32', '00'),
    fc.constantFrom('T', 't', ' '),
    fc.constantFrom(
      '00:00:00',
      '23:59:59',
      '23:59:60',
      '24:00:00',
      '00:00:00.5',
      '00:00:00.123456789',
      '00:00:00.1234567891',
    ),
    fc.constantFrom('Z', 'z', '+00:00', '-00:01', '+23:59', '+24:00', ''),
  )
  .map(([year, month, day, t, time, zone]) => `${year}-${month}-${day}${t}${time}${zone}`);

const built = existsSync(EVALUATOR) ? describe : describe.skip;

built('the libraries of Kubernetes (skipped: without hack/tools/build.sh cel-evaluator)', () => {
  test('quantities', () => {
    const one = [
      'isQuantity(a)',
      ...['isInteger', 'asInteger', 'asApproximateFloat'].map((name) => `quantity(a).${name}()`),
      'sign(quantity(a))',
    ];
    const two = ['compareTo', 'isLessThan', 'isGreaterThan'].map((name) => `quantity(a).${name}(quantity(b))`);
    const sums = ['add', 'sub'].flatMap((name) => [`quantity(a).${name}(quantity(b))`, `quantity(a).${name}(n)`]);
    const results = sums.flatMap((sum) =>
      ['isInteger', 'asInteger', 'asApproximateFloat'].map((name) => `${sum}.${name}()`),
    );
    expect(differences(quantities, [...one, ...two, ...results, 'quantity(a) == quantity(b)'], 0)).toEqual([]);
  });

  test('names', () => {
    const formats = [
      'dns1123Label',
      'dns1123Subdomain',
      'dns1035Label',
      'qualifiedName',
      'labelValue',
      'dns1123LabelPrefix',
      'uri',
      'uuid',
      'byte',
      'date',
      'datetime',
    ];
    const validations = formats.map((name) => `format.${name}().validate(a).orValue(['valid']).join('; ')`);
    expect(differences(names, validations, 1)).toEqual([]);
  });

  test('IP addresses', () => {
    const one = ['isIP(a)', 'ip.isCanonical(a)', 'string(ip(a))', 'ip(a).family()', 'ip(a) == ip(b)'];
    const kinds = ['isUnspecified', 'isLoopback', 'isLinkLocalMulticast', 'isLinkLocalUnicast', 'isGlobalUnicast'];
    expect(differences(addresses, [...one, ...kinds.map((name) => `ip(a).${name}()`)], 2)).toEqual([]);
  });

  test('CIDRs', () => {
    const one = [
      'isIP(a)',
      'string(ip(a))',
      'isCIDR(a)',
      'string(cidr(a))',
      'cidr(a).ip().family()',
      'string(cidr(a).ip())',
      'cidr(a).prefixLength()',
      'string(cidr(a).masked())',
    ];
    const two = ['cidr(a).containsIP(b)', 'cidr(a).containsCIDR(b)', 'cidr(a) == cidr(b)'];
    expect(differences(prefixes, [...one, ...two], 3)).toEqual([]);
  });

  test('URLs', () => {
    const parts = ['getScheme', 'getHost', 'getHostname', 'getPort', 'getEscapedPath'].map(
      (name) => `url(a).${name}()`,
    );
    const query = "url(a).getQuery().map(k, k + '=' + url(a).getQuery()[k].join(',')).sort().join('&')";
    expect(differences(urls, ['isURL(a)', ...parts, query, 'url(a) == url(b)'], 5)).toEqual([]);
  });

  test('semantic versions', () => {
    const parts = ['major', 'minor', 'patch'].map((name) => `semver(a).${name}()`);
    const two = ['compareTo', 'isLessThan', 'isGreaterThan'].map((name) => `semver(a).${name}(semver(b))`);
    const loose = ['isSemver(a, true)', 'semver(a, true).patch()', 'semver(a, true).compareTo(semver(b, true))'];
    expect(differences(semvers, ['isSemver(a)', ...parts, ...two, ...loose, 'semver(a) == semver(b)'], 6)).toEqual([]);
  });

  test('timestamps', () => {
    const parts = [
      'getFullYear',
      'getMonth',
      'getDayOfYear',
      'getDayOfMonth',
      'getDate',
      'getDayOfWeek',
      'getHours',
      'getMinutes',
      'getSeconds',
      'getMilliseconds',
    ];
    const zones = ["getFullYear('America/New_York')", "getHours('-07:30')", "getDayOfYear('Pacific/Kiritimati')"];
    expect(
      differences(
        times,
        [
          ...parts.map((name) => `timestamp(a).${name}()`),
          ...zones.map((name) => `timestamp(a).${name}`),
          'string(timestamp(a))',
          "string(timestamp(a) + duration('1h'))",
          "string(timestamp(a) - duration('1s'))",
          'string(timestamp(timestamp(a)))',
          'string(timestamp(int(timestamp(a))))',
          'timestamp(a) == timestamp(b)',
          'int(timestamp(a))',
          'timestamp(a) < timestamp(b)',
        ],
        4,
      ),
    ).toEqual([]);
  });

  test.each([
    'has(a.é)',
    'has(a.b.é) && é',
    'has(a + é)',
    'has(1é)',
    'é + has(1)',
    'has(1) + $ + has(2)',
    "[1].all(x, has(a.é)) && has('a')",
  ])('the errors of %s', (expression) => {
    const sample = { expression, a: '', b: '', n: '0' };
    expect(ours(sample)).toBe(theirs([sample])[0]);
  });
});
