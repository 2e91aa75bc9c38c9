import { newPathsNotInstalled } from '../../../apimachinery/meta/errors.js';
import { Discovery } from '../../../endpoints/discovery/discovery.js';
import { OpenApi } from '../../../endpoints/openapi/openapi.js';
import { rootDocuments } from '../../../endpoints/openapi/root-documents.js';
import type { OpenApiSource } from '../../../endpoints/openapi/source.js';
import type { Handler } from '../../../endpoints/http.js';
import type { HandlerEnvironment } from '../../../endpoints/handlers/scope.js';
import type { ApiRegistry } from '../../../registry/generic/store/api-registry.js';
import { openApiSource, publishedComponents } from '../../../endpoints/openapi/served-source.js';
import type { NonResourceRoutes } from '../non-resource-routes.js';

/** Registers discovery and OpenAPI, which follow the served types. */
export function installDocuments(
  routes: NonResourceRoutes,
  registry: ApiRegistry,
  environment: HandlerEnvironment,
  serverAddress: () => string,
  /** An aggregated API server is behind another one, which serves these documents alongside its own. */
  mode: 'standalone' | 'aggregated',
): void {
  const { features, protobuf, offload } = environment;
  const discovery = new Discovery(
    {
      groups: () => registry.apiGroups(),
      isComplete: () => registry.isComplete,
      onChange: (changed) => void registry.onChange(changed),
    },
    {
      get serverAddress() {
        return serverAddress();
      },
      compression: features.enabled('APIResponseCompression'),
      cbor: features.enabled('CBORServingAndStorage'),
      protobuf,
    },
  );
  const source = openApiSource(registry);
  const openApi = new OpenApi({
    source,
    published: publishedComponents(),
    clock: environment.clock,
    offload: (what, gv) => offload?.describe(what, gv),
    roots: mode === 'standalone' ? rootDocuments(builtInGroups(source)) : [],
    redirects: mode === 'standalone',
  });
  const describe: Handler = (context, request, response) => {
    if (!registry.isComplete) throw newPathsNotInstalled();
    return openApi.handle(context, request, response);
  };
  routes.register('/openapi/v2', describe);
  routes.register('/openapi/v3', describe);
  routes.registerPrefix('/openapi/v3/', describe);
  for (const path of ['/api', '/apis']) {
    routes.register(path, discovery.handle);
    routes.registerPrefix(`${path}/`, discovery.handle);
  }
  routes.addPaths(() => discoveryPaths(registry));
}

const builtInGroups = (source: OpenApiSource): string[] => [
  ...new Set(source.groupVersions().flatMap(({ group, custom }) => (custom || group === '' ? [] : [group]))),
];

/** Paths of groups and versions, for the index. */
function* discoveryPaths(registry: ApiRegistry): Generator<string> {
  yield '/apis/';
  yield '/openapi/v3/';
  for (const { name, versions } of registry.apiGroups()) {
    if (name !== '') yield `/apis/${name}`;
    for (const { version } of versions) yield name === '' ? `/api/${version}` : `/apis/${name}/${version}`;
  }
}
