import { type JsonObject, objectAt, textAt } from '../apimachinery/json/json.js';
import { newInvalid } from '../apimachinery/meta/errors.js';
import { type FieldError, invalid } from '../apimachinery/meta/field-error.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { prepareQuery, runQuery } from '../asking/query/query.js';
import { forbidden } from '../authorization/authorizer/forbidden.js';
import type { Authorizer, AuthorizerAttributes } from '../authorization/authorizer/interfaces.js';
import { queryDefinition } from '../registry/builtin/kubeannex/queries.js';
import { createOnlyKind } from '../registry/customresource/create-only.js';
import type { ApiRegistry } from '../registry/generic/store/api-registry.js';
import type { ComputedKind } from '../registry/rest/computed.js';
import type { RequestContext } from '../request/context.js';
import type { Clock } from '../util/clock.js';
import { type SourceName, sourceOf } from './sources.js';

interface QueryOptions {
  readonly registry: ApiRegistry;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

/** Returns Query and LocalQuery, which are answered when they are created. */
export const queryKinds = (options: QueryOptions): readonly ComputedKind[] =>
  (['Query', 'LocalQuery'] as const).map((kind) =>
    createOnlyKind(
      queryDefinition(kind),
      (context, object, namespace) => answer(object, context, namespace, options),
      options.clock,
    ),
  );

async function answer(
  object: KubeObject,
  context: RequestContext,
  namespace: string,
  { registry, authorizer, clock }: QueryOptions,
): Promise<KubeObject> {
  const spec = objectAt(object, 'spec') ?? {};
  const name = readSource(spec);
  await authorizeList(authorizer, context, name, namespace);
  const source = sourceOf(registry, name);
  const errors: FieldError[] = [];
  const refuse = (): never => {
    throw newInvalid({ group: 'kubeannex.io', kind: object.kind ?? '' }, object.metadata.name ?? '', errors);
  };
  if (source === undefined) {
    errors.push(invalid('spec.source', shown(name), 'is not served, or cannot be listed'));
    return refuse();
  }
  if (namespace !== '' && !source.served.type.namespaced) {
    errors.push(invalid('spec.source', shown(name), 'has no namespaces: create a Query'));
    return refuse();
  }
  const query = prepareQuery(spec, source, context.receivedAt, errors);
  if (errors.length > 0) refuse();
  object['status'] = await runQuery(query, context, namespace, clock);
  return object;
}

/** Reads the source of a spec. */
function readSource(spec: JsonObject): SourceName {
  const source = objectAt(spec, 'source');
  return { group: textAt(source, 'group'), version: textAt(source, 'version'), resource: textAt(source, 'resource') };
}

const shown = ({ group, version, resource }: SourceName): string =>
  [resource, version, group].filter((part) => part !== '').join('.');

/** Throws a 403 unless the user of a request may list a type. */
async function authorizeList(
  authorizer: Authorizer,
  { user, signal }: RequestContext,
  { group, version, resource }: SourceName,
  namespace: string,
): Promise<void> {
  const attributes: AuthorizerAttributes = {
    user,
    verb: 'list',
    resourceRequest: true,
    namespace,
    apiGroup: group,
    apiVersion: version === '' ? '*' : version,
    resource,
    subresource: '',
    name: '',
    path: '',
  };
  const { decision, reason } = await authorizer.authorize(attributes, signal);
  if (decision !== 'allow') throw forbidden(attributes, reason);
}
