import { newInternalError } from '../../../apimachinery/meta/errors.js';
import { messageOf } from '../../../util/error-message.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';
import type { AdmissionAttributes, AdmissionPlugin, VersionedResource } from '../../interfaces.js';
import { isExempt } from '../../matching/match.js';
import { whenReady } from '../when-ready.js';
import type { ConfigurationSource } from '../../sources.js';
import { callHook, failOpen, type Invocation, observed, requestTimeout, type WebhookDependencies } from './caller.js';
import { Hooks, type IndexedHook } from './hooks.js';
import type { ReviewedObjects } from './review.js';
import { objectsAs } from './versions.js';
import { shouldCall } from './should-call.js';

const FAILED_OPEN = 'failed-open.validating.webhook.admission.k8s.io/';

/** Calls the webhooks of ValidatingWebhookConfigurations in parallel. Any of them may refuse the request. */
export function validatingWebhooks(
  source: ConfigurationSource,
  dependencies: WebhookDependencies,
  files?: ConfigurationSource,
): AdmissionPlugin {
  const hooks = new Hooks(source, files, 'validating', dependencies.conditions);
  return {
    name: 'ValidatingAdmissionWebhook',
    handles: () => true,
    readsObjects: (resource) => !hooks.synced() || hooks.hooksFor(resource).length > 0,
    validate(attributes) {
      if (isExempt(attributes)) return;
      const dispatch = (): MaybePromise<void> => {
        const found = hooks.hooksFor(attributes.resource);
        if (found.length > 0) return validate(found, attributes, dependencies);
      };
      return hooks.isReadyFor(attributes.resource)
        ? dispatch()
        : whenReady(hooks, attributes, dependencies.clock).then(dispatch);
    },
  };
}

async function validate(
  hooks: readonly IndexedHook[],
  attributes: AdmissionAttributes,
  dependencies: WebhookDependencies,
): Promise<void> {
  const versions = new Map<string, Promise<ReviewedObjects>>();
  const objectsIn = (matched: VersionedResource): Promise<ReviewedObjects> => {
    const { group, version, kind } = matched.kind;
    const key = `${group}/${version} ${kind}`;
    let objects = versions.get(key);
    if (objects === undefined) versions.set(key, (objects = objectsAs(attributes, matched.kind)));
    return objects;
  };
  const relevant: Invocation[] = [];
  for (const { hook } of hooks) {
    const matched = await shouldCall(hook, attributes, objectsIn, dependencies);
    if (matched === undefined) continue;
    relevant.push({
      hook,
      type: 'validating',
      attributes,
      matched,
      objects: await converted(() => objectsIn(matched)),
    });
  }
  if (relevant.length === 0) return;
  if (attributes.cancellation.aborted) throw requestTimeout();
  // All are called, whatever the others return. The client gets the refusal that arrives first.
  const refusals: unknown[] = [];
  await Promise.all(
    relevant.map(async (invocation, index) => {
      const error = await callOne(invocation, index, dependencies);
      if (error !== undefined) refusals.push(error);
    }),
  );
  if (refusals.length > 0) throw refusals[0] as Error;
}

async function converted<T>(convert: () => Promise<T>): Promise<T> {
  try {
    return await convert();
  } catch (error) {
    throw newInternalError(messageOf(error));
  }
}

/** Returns the error to refuse the request with, or undefined if it may proceed. */
async function callOne(invocation: Invocation, index: number, dependencies: WebhookDependencies): Promise<unknown> {
  const { failure } = await observed(invocation, dependencies, () => callHook(invocation, dependencies));
  if (failure === undefined) return undefined;
  return failOpen(invocation, dependencies, failure, `${FAILED_OPEN}round_0_index_${String(index)}`);
}
