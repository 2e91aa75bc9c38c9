import protobuf from 'protobufjs';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { encodeDocumentV3 } from './gnostic-v3.js';

/** The parts of gnostic's openapi.v3 that the documents use, with its field numbers. */
const MESSAGES = `syntax = "proto3"; package openapi.v3;
message Any { string yaml = 2; }
message NamedAny { string name = 1; Any value = 2; }
message Info { string title = 1; string version = 6; }
message Reference { string _ref = 1; string description = 3; }
message SchemaOrReference { oneof oneof { Schema schema = 1; Reference reference = 2; } }
message NamedSchema { string name = 1; SchemaOrReference value = 2; }
message Properties { repeated NamedSchema additional_properties = 1; }
message Items { repeated SchemaOrReference schema_or_reference = 1; }
message Additional { oneof oneof { SchemaOrReference schema_or_reference = 1; bool boolean = 2; } }
message Default { oneof oneof { double number = 1; bool boolean = 2; string string = 3; } }
message Schema { bool nullable = 1; double minimum = 13; int64 max_length = 15; repeated string required = 23;
  repeated Any enum = 24; string type = 25; repeated SchemaOrReference all_of = 26; Items items = 30; Properties properties = 31;
  Additional additional_properties = 32; Default default = 33; string description = 34; repeated NamedAny specification_extension = 36; }
message MediaType { SchemaOrReference schema = 1; }
message NamedMediaType { string name = 1; MediaType value = 2; }
message MediaTypes { repeated NamedMediaType additional_properties = 1; }
message Parameter { string name = 1; string in = 2; bool required = 4; SchemaOrReference schema = 10; }
message ParameterOrReference { Parameter parameter = 1; }
message RequestBody { MediaTypes content = 2; bool required = 3; }
message RequestBodyOrReference { RequestBody request_body = 1; }
message Response { string description = 1; MediaTypes content = 3; }
message ResponseOrReference { Response response = 1; }
message NamedResponse { string name = 1; ResponseOrReference value = 2; }
message Responses { ResponseOrReference default = 1; repeated NamedResponse response_or_reference = 2; }
message Operation { repeated string tags = 1; string operation_id = 5; repeated ParameterOrReference parameters = 6;
  RequestBodyOrReference request_body = 7; Responses responses = 8; }
message PathItem { Operation get = 4; Operation post = 6; repeated ParameterOrReference parameters = 13; }
message NamedPathItem { string name = 1; PathItem value = 2; }
message Paths { repeated NamedPathItem path = 1; }
message SecurityScheme { string type = 1; string name = 3; string in = 4; }
message SecuritySchemeOrReference { SecurityScheme security_scheme = 1; }
message NamedSecurityScheme { string name = 1; SecuritySchemeOrReference value = 2; }
message SecuritySchemes { repeated NamedSecurityScheme additional_properties = 1; }
message Components { Properties schemas = 1; SecuritySchemes security_schemes = 7; }
message Strings { repeated string value = 1; }
message NamedStrings { string name = 1; Strings value = 2; }
message Requirement { repeated NamedStrings additional_properties = 1; }
message Document { string openapi = 1; Info info = 2; Paths paths = 4; Components components = 5; repeated Requirement security = 6; }`;
const Document = protobuf.parse(MESSAGES, { keepCase: true }).root.lookupType('openapi.v3.Document');

const decoded = (document: JsonObject): unknown =>
  Document.toObject(Document.decode(encodeDocumentV3({ openapi: '3.0.0', ...document })), { longs: Number });

const schemaOf = (schema: JsonObject): unknown => {
  const document = decoded({ components: { schemas: { S: schema } } }) as {
    components: { schemas: { additional_properties: { value: unknown }[] } };
  };
  return document.components.schemas.additional_properties[0]?.value;
};

test.each<{ name: string; schema: JsonObject; message: unknown }>([
  {
    name: 'zeros that are defaults',
    schema: { type: 'integer', default: 0 },
    message: { schema: { type: 'integer', default: { number: 0 } } },
  },
  { name: 'false as default', schema: { default: false }, message: { schema: { default: { boolean: false } } } },
  { name: 'an empty text as default', schema: { default: '' }, message: { schema: { default: { string: '' } } } },
  { name: 'a default that is an object', schema: { default: {} }, message: { schema: { default: {} } } },
  {
    name: 'nothing else allowed',
    schema: { additionalProperties: false },
    message: { schema: { additional_properties: { boolean: false } } },
  },
  {
    name: 'a map',
    schema: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
    message: {
      schema: {
        type: 'object',
        additional_properties: { schema_or_reference: { schema: { type: 'string', nullable: true } } },
      },
    },
  },
  {
    name: 'a reference, which has nothing but a description beside it',
    schema: { $ref: '#/x', description: 'd', default: {} },
    message: { reference: { _ref: '#/x', description: 'd' } },
  },
  {
    name: 'a reference within a list of schemas',
    schema: { allOf: [{ $ref: '#/x' }], minimum: -1.5, maxLength: 3, 'x-a': { b: true } },
    message: {
      schema: {
        all_of: [{ reference: { _ref: '#/x' } }],
        minimum: -1.5,
        max_length: 3,
        specification_extension: [{ name: 'x-a', value: { yaml: 'b: true\n' } }],
      },
    },
  },
  {
    name: 'properties in their order, and items',
    schema: { required: ['b'], properties: { b: { enum: ['x'] }, a: { items: { type: 'string' } } } },
    message: {
      schema: {
        required: ['b'],
        properties: {
          additional_properties: [
            { name: 'b', value: { schema: { enum: [{ yaml: 'x\n' }] } } },
            { name: 'a', value: { schema: { items: { schema_or_reference: [{ schema: { type: 'string' } }] } } } },
          ],
        },
      },
    },
  },
])('schema: $name', ({ schema, message }) => {
  expect(schemaOf(schema)).toEqual(message);
});

test('encodes the document', () => {
  const content = { 'application/json': { schema: { $ref: '#/s' } } };
  const parameters = [{ name: 'p', in: 'query', required: true, schema: { type: 'string' } }];
  const body = { content, required: true };
  const responses = { 200: { description: 'OK', content }, default: { description: 'else' } };
  const media = {
    additional_properties: [{ name: 'application/json', value: { schema: { reference: { _ref: '#/s' } } } }],
  };
  const given = { parameter: { name: 'p', in: 'query', required: true, schema: { schema: { type: 'string' } } } };
  expect(
    decoded({
      info: { title: 'T', version: 'v' },
      paths: {
        '/x': {
          get: { operationId: 'g', responses },
          post: { tags: ['t'], requestBody: body, parameters },
          parameters,
        },
      },
      components: { schemas: {}, securitySchemes: { B: { type: 'apiKey', name: 'authorization', in: 'header' } } },
      security: [{ B: [] }],
    }),
  ).toEqual({
    openapi: '3.0.0',
    info: { title: 'T', version: 'v' },
    paths: {
      path: [
        {
          name: '/x',
          value: {
            get: {
              operation_id: 'g',
              responses: {
                default: { response: { description: 'else' } },
                response_or_reference: [{ name: '200', value: { response: { description: 'OK', content: media } } }],
              },
            },
            post: {
              tags: ['t'],
              request_body: { request_body: { content: media, required: true } },
              parameters: [given],
            },
            parameters: [given],
          },
        },
      ],
    },
    components: {
      schemas: {},
      security_schemes: {
        additional_properties: [
          { name: 'B', value: { security_scheme: { type: 'apiKey', name: 'authorization', in: 'header' } } },
        ],
      },
    },
    security: [{ additional_properties: [{ name: 'B', value: {} }] }],
  });
});
