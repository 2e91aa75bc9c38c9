import { decodeDetailed, parseJson } from '../json/decode.js';
import { type JsonObject, stringifyJson } from '../json/json.js';
import { requireSchema } from './builtin-schema.js';
import { conversionError } from './convert.js';

const decode = (
  group: string,
  kind: string,
  object: JsonObject | string,
): { object: JsonObject; strictErrors: readonly string[] } =>
  requireSchema(group, 'v1', kind).decode(
    decodeDetailed(typeof object === 'string' ? object : JSON.stringify(object), { strict: true }),
    true,
  );

describe('duplicate fields', () => {
  const number = 'json: cannot unmarshal number into Go struct field';
  test.each([
    ['ConfigMap', '{"data":5,"data":{"a":"x"}}', `${number} ConfigMap.data of type map[string]string`],
    [
      'ConfigMap',
      '{"metadata":{"labels":5,"labels":{}}}',
      `${number} ObjectMeta.metadata.labels of type map[string]string`,
    ],
    ['ConfigMap', '{"data":{"a":5,"a":"x"},"immutable":"x"}', `${number} ConfigMap.data of type string`],
    [
      'Pod',
      '{"spec":{"containers":[{},{"name":5}],"containers":[{}]}}',
      `${number} Container.spec.containers.name of type string`,
    ],
    [
      'Pod',
      '{"spec":{"terminationGracePeriodSeconds":1.0,"terminationGracePeriodSeconds":1.5}}',
      'json: cannot unmarshal number 1.0 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64',
    ],
    [
      'Pod',
      '{"metadata":{"generation":9223372036854775808}}',
      'json: cannot unmarshal number 9223372036854775808 into Go struct field ObjectMeta.metadata.generation of type int64',
    ],
  ])('%s %s: the first value of a wrong type is reported', (kind, text, message) => {
    expect(() =>
      requireSchema('', 'v1', kind).decode(decodeDetailed(text, { strict: false, merges: true }), false),
    ).toThrow(message);
  });

  test('unknown fields in the first value are reported', () => {
    const text = '{"spec":{"containers":[{"name":"a"},{"bogus":1}],"containers":[{"image":"i"}]}}';
    const { object, strictErrors } = requireSchema('', 'v1', 'Pod').decode(
      decodeDetailed(text, { strict: true, merges: true }),
      true,
    );
    expect(object).toMatchObject({ spec: { containers: [{ name: 'a', image: 'i' }] } });
    expect(strictErrors).toEqual(['unknown field "spec.containers[1].bogus"', 'duplicate field "spec.containers"']);
  });
});

describe('typed decoding', () => {
  const normal: [string, string, JsonObject, JsonObject][] = [
    [
      'zero values',
      'ConfigMap',
      { metadata: { name: '', creationTimestamp: null, labels: {} }, data: {}, immutable: false },
      { metadata: {}, immutable: false },
    ],
    ['null in a map of texts', 'ConfigMap', { data: { a: null } }, { metadata: {}, data: { a: '' } }],
    [
      'null in a map of bytes',
      'Secret',
      { data: { a: null, b: 'aGk=' } },
      { metadata: {}, data: { a: '', b: 'aGk=' } },
    ],
    [
      'what must be written',
      'Namespace',
      { status: { conditions: [{}] } },
      { metadata: {}, spec: {}, status: { conditions: [{ type: '', status: '', lastTransitionTime: null }] } },
    ],
    [
      'times and micro times',
      'Event',
      { firstTimestamp: '2020-01-01T01:00:00.5+01:00', eventTime: '2020-01-01T00:00:00.123456Z' },
      {
        metadata: {},
        involvedObject: {},
        source: {},
        firstTimestamp: '2020-01-01T00:00:00Z',
        lastTimestamp: null,
        eventTime: '2020-01-01T00:00:00.123456Z',
        reportingComponent: '',
        reportingInstance: '',
      },
    ],
    [
      'quantities',
      'PersistentVolume',
      { spec: { capacity: { storage: '1024Mi', x: 1.5 } } },
      { metadata: {}, spec: { capacity: { storage: '1Gi', x: '1500m' } }, status: {} },
    ],
    [
      'integers or texts',
      'Service',
      {
        spec: {
          ports: [
            { port: 1, targetPort: 'a' },
            { port: 2, targetPort: null },
          ],
        },
      },
      {
        metadata: {},
        spec: {
          ports: [
            { port: 1, targetPort: 'a' },
            { port: 2, targetPort: 0 },
          ],
        },
        status: { loadBalancer: {} },
      },
    ],
  ];
  test.each(normal)('%s', (_, kind, given, expected) => {
    expect(parseJson(stringifyJson(decode('', kind, given).object))).toEqual(expected);
  });

  test('fields are in the order of the type, and map keys are sorted', () => {
    expect(
      JSON.stringify(decode('', 'ConfigMap', { data: { b: '1', a: '2' }, metadata: {}, kind: 'ConfigMap' }).object),
    ).toBe('{"kind":"ConfigMap","metadata":{},"data":{"a":"2","b":"1"}}');
  });

  const errors: [string, JsonObject | string, string][] = [
    [
      'ConfigMap',
      { data: 'x' },
      'json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string',
    ],
    [
      'ConfigMap',
      { data: { a: 1 } },
      'json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    [
      'ConfigMap',
      { metadata: { name: true } },
      'json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string',
    ],
    [
      'ConfigMap',
      { metadata: { generation: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64',
    ],
    [
      'ConfigMap',
      '{"metadata":{"generation":1.0}}',
      'json: cannot unmarshal number 1.0 into Go struct field ObjectMeta.metadata.generation of type int64',
    ],
    ['ConfigMap', { binaryData: { a: 'aGk' } }, 'illegal base64 data at input byte 0'],
    ['ConfigMap', { binaryData: { a: 'a!k=' } }, 'illegal base64 data at input byte 1'],
    [
      'ConfigMap',
      { metadata: { creationTimestamp: 'x' } },
      'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ],
    [
      'ConfigMap',
      { metadata: { creationTimestamp: 1 } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
    ],
    ['ConfigMap', '[]', 'json: cannot unmarshal array into Go value of type v1.ConfigMap'],
    [
      'Pod',
      { spec: { containers: {} } },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      'Pod',
      { spec: { volumes: [{ emptyDir: 1 }] } },
      'json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource',
    ],
    [
      'Pod',
      { spec: { priority: 3000000000 } },
      'json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32',
    ],
  ];
  test.each(errors)('%s %j', (kind, object, message) => {
    expect(() => decode('', kind, object)).toThrow(new Error(message));
  });

  test('reports unknown and duplicate fields in the order of the text', () => {
    const text = '{"zz":{"a":1,"a":2},"metadata":{"name":"a","x":1,"name":"b"},"data":{"k":"1","k":"2"},"data":{}}';
    expect(decode('', 'ConfigMap', text).strictErrors).toEqual([
      'unknown field "zz"',
      'unknown field "metadata.x"',
      'duplicate field "metadata.name"',
      'duplicate field "data.k"',
      'duplicate field "data"',
    ]);
  });

  test('nested schemas are decoded without a check for unknown fields', () => {
    const { object, strictErrors } = decode('apiextensions.k8s.io', 'CustomResourceDefinition', {
      spec: {
        versions: [
          {
            schema: {
              openAPIV3Schema: { type: 'object', zz: 1, items: { type: '', zz: 1 }, additionalProperties: false },
            },
          },
        ],
      },
    });
    const versions = (object['spec'] as JsonObject)['versions'] as JsonObject[];
    expect(versions[0]?.['schema']).toEqual({
      openAPIV3Schema: { type: 'object', items: {}, additionalProperties: false },
    });
    expect(strictErrors).toEqual(['unknown field "spec.versions[0].schema.openAPIV3Schema.zz"']);
  });
});

test.each([
  [{ data: 1 }, 'cannot restore map from int64'],
  [{ data: { a: 1 } }, 'cannot convert int64 to string'],
  [{ data: { a: true } }, 'unrecognized type: string'],
  [{ metadata: 'x' }, 'cannot restore struct from: string'],
  [{ metadata: { finalizers: {} } }, 'cannot restore slice from map'],
  [{ metadata: { generation: 1.5 } }, 'cannot convert float64 to int64'],
  [{ binaryData: { a: 'x' } }, 'error decoding from json: illegal base64 data at input byte 0'],
  [{ binaryData: { a: [1, null, {}] } }, 'unrecognized type: uint8'],
  [{ binaryData: { a: [1.5] } }, 'cannot convert float64 to uint8'],
  [{ binaryData: { a: [1, null] } }, undefined],
  [{ metadata: { creationTimestamp: 1 } }, 'json: cannot unmarshal number into Go value of type string'],
  [{ immutable: null }, undefined],
])('conversion of %j', (object, message) => {
  expect(conversionError(requireSchema('', 'v1', 'ConfigMap').type, object)).toBe(message);
});
