import type { JsonObject } from '../../apimachinery/json/json.js';
import { camelGroup, meta } from './operations.js';
import { builtInInfo, schemaPrefix, securitySchemes } from './spec-v3.js';

/** The v3 document of a path that serves no resources. */
export interface RootDocument {
  readonly path: string;
  readonly document: JsonObject;
}

const text = { type: 'string' };
const required = { type: 'string', default: '' };
const typeMeta = { apiVersion: text, kind: text };

const object = (required: string[], properties: JsonObject, kind?: string): JsonObject => ({
  type: 'object',
  required,
  properties,
  ...(kind === undefined ? {} : { 'x-kubernetes-group-version-kind': [{ group: '', kind, version: 'v1' }] }),
});
const refer = (name: string): JsonObject => ({ default: {}, allOf: [{ $ref: `${schemaPrefix}${meta}.${name}` }] });
const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items, 'x-kubernetes-list-type': 'atomic' });

const addresses = listOf(refer('ServerAddressByClientCIDR'));
const ofDiscovery: Readonly<Record<string, JsonObject>> = {
  APIGroup: object(
    ['name', 'versions'],
    {
      ...typeMeta,
      name: required,
      preferredVersion: refer('GroupVersionForDiscovery'),
      serverAddressByClientCIDRs: addresses,
      versions: listOf(refer('GroupVersionForDiscovery')),
    },
    'APIGroup',
  ),
  APIGroupList: object(['groups'], { ...typeMeta, groups: listOf(refer('APIGroup')) }, 'APIGroupList'),
  APIVersions: object(
    ['versions', 'serverAddressByClientCIDRs'],
    { ...typeMeta, serverAddressByClientCIDRs: addresses, versions: listOf(required) },
    'APIVersions',
  ),
  GroupVersionForDiscovery: object(['groupVersion', 'version'], { groupVersion: required, version: required }),
  ServerAddressByClientCIDR: object(['clientCIDR', 'serverAddress'], { clientCIDR: required, serverAddress: required }),
};

const always = ['major', 'minor', 'gitVersion', 'gitCommit', 'gitTreeState', 'buildDate', 'goVersion', 'compiler'];
const sometimes = ['emulationMajor', 'emulationMinor', 'minCompatibilityMajor', 'minCompatibilityMinor'];
const versionInfo = object(
  [...always, 'platform'],
  Object.fromEntries([
    ...[...always, 'platform'].map((name) => [name, required] as const),
    ...sometimes.map((name) => [name, text] as const),
  ]),
);

interface Root {
  readonly path: string;
  readonly tag: string;
  readonly operationId: string;
  readonly description: string;
  readonly produces: readonly string[];
  /** The name of the response's schema; if absent, the response is a string. */
  readonly schema?: string;
  readonly schemas: Readonly<Record<string, JsonObject>>;
}

/** Returns a discovery schema, the first of `names`, with the schemas it refers to. */
function discovery(names: readonly string[]): Pick<Root, 'schema' | 'schemas' | 'produces'> {
  return {
    schema: `${meta}.${names[0] ?? ''}`,
    schemas: Object.fromEntries([...names].sort().map((name) => [`${meta}.${name}`, ofDiscovery[name] ?? {}])),
    produces: ['application/json', 'application/vnd.kubernetes.protobuf', 'application/yaml'],
  };
}

const groupSchemas = ['APIGroup', 'GroupVersionForDiscovery', 'ServerAddressByClientCIDR'];
const info = 'io.k8s.apimachinery.pkg.version.Info';

function rootsOf(groups: readonly string[]): Root[] {
  const json = { produces: ['application/json'], schemas: {} };
  return [
    {
      path: '.well-known/openid-configuration',
      tag: 'WellKnown',
      operationId: 'getServiceAccountIssuerOpenIDConfiguration',
      description: 'OpenID configuration of the issuer of service account tokens',
      ...json,
    },
    {
      path: 'api',
      tag: 'core',
      operationId: 'getCoreAPIVersions',
      description: 'available versions of the core group',
      ...discovery(['APIVersions', 'ServerAddressByClientCIDR']),
    },
    {
      path: 'apis',
      tag: 'apis',
      operationId: 'getAPIVersions',
      description: 'available API groups and their versions',
      ...discovery(['APIGroupList', ...groupSchemas]),
    },
    ...groups.map((group): Root => {
      const name = camelGroup(group);
      return {
        path: `apis/${group}`,
        tag: `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
        operationId: `get${name}APIGroup`,
        description: 'an API group and its versions',
        ...discovery(groupSchemas),
      };
    }),
    {
      path: 'openid/v1/jwks',
      tag: 'openid',
      operationId: 'getServiceAccountIssuerOpenIDKeyset',
      description: 'public keys of the issuer of service account tokens',
      produces: ['application/jwk-set+json'],
      schemas: {},
    },
    {
      path: 'version',
      tag: 'version',
      operationId: 'getCodeVersion',
      description: 'version of the server',
      produces: json.produces,
      schema: info,
      schemas: { [info]: versionInfo },
    },
  ];
}

/** Builds the documents of the paths beside resources on a server with these built-in groups. */
export const rootDocuments = (groups: readonly string[]): RootDocument[] =>
  rootsOf(groups).map((root) => ({ path: root.path, document: documentOf(root) }));

function documentOf({ path, tag, operationId, description, produces, schema, schemas }: Root): JsonObject {
  const answer = { schema: schema === undefined ? text : { $ref: `${schemaPrefix}${schema}` } };
  const operation = {
    tags: [tag],
    description,
    operationId,
    responses: {
      200: { description: 'OK', content: Object.fromEntries(produces.map((type) => [type, answer])) },
      401: { description: 'Unauthorized' },
    },
  };
  return {
    openapi: '3.0.0',
    info: builtInInfo,
    paths: { [`/${path}/`]: { get: operation } },
    components: {
      ...(schema === undefined ? {} : { schemas: { ...schemas } }),
      securitySchemes: { ...securitySchemes },
    },
  };
}
