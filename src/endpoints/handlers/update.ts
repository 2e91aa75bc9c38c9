import { newInternalError } from '../../apimachinery/meta/errors.js';
import { deepCopy } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { authorizerAttributes, checkName, requireNamespace } from './request/target.js';
import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import { retryOnPendingConversion } from '../../registry/generic/conversion-retry.js';
import { isTooLarge } from '../../registry/generic/store/resource-store.js';
import { dedupOwnerReferences, ensureNamespace } from '../../registry/generic/system-fields.js';
import { updateObject, type UpdateRequest } from '../../registry/generic/update.js';
import { forbidden } from '../filters/access/forbidden.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import { readBody } from './request/body.js';
import { decodeBody } from './codec/decode-body.js';
import { offloadOrRun } from './offload.js';
import { negotiateObject, writeMutationResult } from './respond.js';
import { Query } from './request/query.js';
import { admissionAttributes, admissionOptions, admitMutations } from './admission.js';
import type { RequestScope } from '../router/scope.js';
import { createOrUpdateOptions, type WriteOptions } from './request/write-options.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** PUT on an object, or on a subresource that writes it. */
export async function updateHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  environment.metrics.requestBodySize(served.gvk.group, served.groupResource.resource, 'update', body.length);
  const options = createOrUpdateOptions(query, 'UpdateOptions');
  context.dryRun = options.dryRun;
  return offloadOrRun(scope, body, () => update(scope, body, options, sink));
}

async function update(scope: RequestScope, body: Buffer, options: WriteOptions, sink: ResponseSink): Promise<void> {
  const { context, served } = scope;
  const object = decodeBody(scope.served, scope, body, options.fieldValidation);
  const { namespace, name } = context.info;
  ensureNamespace(served.type.namespaced ? namespace : '', object.metadata);
  checkName(object, name);
  dedupOwnerReferences(object, (text) => context.warn(text), { afterAdmission: false });
  requireNamespace(scope);
  const manager = managerOrUserAgent(options.fieldManager, context.userAgent);
  const uid = object.metadata.uid ?? '';
  await updateAndRespond(scope, sink, {
    dryRun: options.dryRun,
    forceAllowCreate: false,
    expectedUid: uid === '' ? undefined : uid,
    needsFields: false,
    make: async (current, tracksFields) => {
      const next = deepCopy(object);
      if (tracksFields) await retryOnPendingConversion(() => scope.fieldManager.update(current, next, manager));
      return next;
    },
  });
}

interface NextObject extends Pick<UpdateRequest, 'dryRun' | 'forceAllowCreate' | 'expectedUid'> {
  /** True if an object that is too large must not be stored without its managed fields: an apply depends on them. */
  readonly needsFields: boolean;
  /** Builds the object from the current one, before admission. May run several times. Unless `tracksFields`, its managed fields are dropped. */
  readonly make: (current: KubeObject | undefined, tracksFields: boolean) => Promise<KubeObject>;
}

/** Stores the object that an update or a patch builds, and writes it as the response. */
export async function updateAndRespond(
  scope: RequestScope,
  sink: ResponseSink,
  { needsFields, make, ...request }: NextObject,
): Promise<void> {
  const { context, served, strategy } = scope;
  const { namespace, name } = context.info;
  const store = (tracksFields: boolean): ReturnType<typeof updateObject> =>
    updateObject(scope.store, {
      ...request,
      context,
      served,
      strategy,
      namespace,
      name,
      async transform(current) {
        const next = await make(current, tracksFields);
        if (!tracksFields) delete next.metadata.managedFields;
        await mutate(scope, next, current);
        return next;
      },
      ...validators(scope),
    });
  const updated = await store(true).catch((error: unknown) => {
    if (needsFields || !isTooLarge(error)) throw error;
    return store(false);
  });
  await writeMutationResult(scope, sink, updated.created ? 201 : 200, updated);
}

/** Runs mutating admission on the new state. */
async function mutate(scope: RequestScope, next: KubeObject, current: KubeObject | undefined): Promise<void> {
  const operation = current === undefined ? 'CREATE' : 'UPDATE';
  const options = admissionOptions(scope, operation);
  const { name } = scope.context.info;
  await admitMutations(
    scope.environment.admission,
    admissionAttributes(scope, operation, name, next, current, options),
  );
}

/** Returns the validating admission of a write. A create through an update or patch is first authorized as a create. */
export function validators(scope: RequestScope): {
  validateCreate(object: KubeObject): Promise<void>;
  validateUpdate(object: KubeObject, old: KubeObject): MaybePromise<void>;
} {
  const { admission } = scope.environment;
  const { name } = scope.context.info;
  return {
    async validateCreate(object) {
      await authorizeCreate(scope);
      await admission.validate(
        admissionAttributes(scope, 'CREATE', name, object, undefined, admissionOptions(scope, 'CREATE')),
      );
    },
    validateUpdate: (object, old) =>
      admission.validate(admissionAttributes(scope, 'UPDATE', name, object, old, admissionOptions(scope, 'UPDATE'))),
  };
}

async function authorizeCreate(scope: RequestScope): Promise<void> {
  const { context, environment } = scope;
  const attributes = authorizerAttributes(scope, 'create');
  const result = await environment.authorizer.authorize(attributes, context.signal);
  if (result.decision === 'allow') return;
  if (result.error !== undefined && result.error !== '') throw newInternalError(result.error);
  throw forbidden(attributes, result.reason);
}
