import { parseTracingConfiguration, readTracingConfiguration } from './configuration.js';

const HEAD = 'apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n';
const AT = 'Go struct field TracingConfiguration.TracingConfiguration';
const read = 'failed to read tracing config: unable to decode tracing configuration data: ';
const validate = 'failed to validate tracing configuration: ';
const RATE = 'samplingRatePerMillion: Invalid value';

test.each([
  ['everything', `${HEAD}endpoint: collector:4317\nsamplingRatePerMillion: 100\n`, 'collector:4317', 100],
  ['nothing', HEAD, undefined, undefined],
  ['an empty file', '', undefined, undefined],
  ['an older version', HEAD.replace('/v1', '/v1beta1'), undefined, undefined],
  ['a socket', `${HEAD}endpoint: unix:///run/otlp\n`, 'unix:///run/otlp', undefined],
])('%s', (_name, text, endpoint, samplingRatePerMillion) => {
  expect(parseTracingConfiguration(text)).toEqual({ endpoint, samplingRatePerMillion });
});

// The errors of kube-apiserver v1.36.3.
test.each([
  [
    'samplingRatePerMillion: 2000000\nendpoint: http://x\n',
    `${validate}[${RATE}: 2000000: sampling rate per million must be less than or equal to one million, endpoint: Invalid value: "http://x": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md]`,
  ],
  ['samplingRatePerMillion: -1\n', `${validate}${RATE}: -1: sampling rate must be positive`],
  [
    'samplingRatePerMillion: abc\n',
    `${read}json: cannot unmarshal string into ${AT}.samplingRatePerMillion of type int32`,
  ],
  [
    'samplingRatePerMillion: 1.5\n',
    `${read}json: cannot unmarshal number 1.5 into ${AT}.samplingRatePerMillion of type int32`,
  ],
  [
    'samplingRatePerMillion: 3000000000\n',
    `${read}json: cannot unmarshal number 3000000000 into ${AT}.samplingRatePerMillion of type int32`,
  ],
  ['endpoint: 5\n', `${read}json: cannot unmarshal number into ${AT}.endpoint of type string`],
  ["endpoint: '%zz'\n", `${validate}endpoint: Invalid value: "dns://%zz": parse "dns://%zz": invalid URL escape "%zz"`],
  [
    "endpoint: 'a b:1'\n",
    `${validate}endpoint: Invalid value: "dns://a b:1": parse "dns://a b:1": invalid character " " in host name`,
  ],
  ['foo: 1\n', `${read}strict decoding error: unknown field "foo"`],
])('%j is refused', (text, message) => {
  expect(() => parseTracingConfiguration(HEAD + text)).toThrow(message);
});

test.each([
  [
    HEAD.replace('Tracing', 'Encryption'),
    'converting (v1.EncryptionConfiguration) to (apiserver.TracingConfiguration): unknown conversion',
  ],
  [HEAD.replace('/v1', '/v7'), 'no kind "TracingConfiguration" is registered for version "apiserver.config.k8s.io/v7"'],
])('a file of another type is refused: %j', (text, message) => {
  expect(() => parseTracingConfiguration(text)).toThrow(`${read}${message}`);
});

test('a missing file is refused', () => {
  expect(() => readTracingConfiguration('/none.yaml')).toThrow(
    'failed to read tracing config: unable to read tracing configuration from "/none.yaml": open /none.yaml: no such file or directory',
  );
});
