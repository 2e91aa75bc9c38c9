import type { AdmissionAttributes } from '../admission/interfaces.js';
import { parseJson } from '../apimachinery/json/decode.js';
import type { Status } from '../apimachinery/meta/errors.js';
import { isObject, type JsonObject, stringifyJson } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { admissionAttributes } from '../registry/generic/admission.js';
import type { OffloadScope } from '../endpoints/handlers/scope.js';
import { definitionChanged } from '../registry/customresource/storage-codec.js';
import { observeConversion } from '../registry/customresource/conversion/conversion-metrics.js';
import type { RbacRuleSource } from '../authorization/rbac/types.js';
import type { EncodedObject, StoredObject, WriteResult } from '../storage/interfaces.js';
import {
  type CallResult,
  type CallResults,
  type Call,
  copyForTransfer,
  type FromWorker,
  type SentAdmission,
  type SentObject,
  type SentValue,
} from './messages.js';
import { untilAborted } from '../util/cancellation.js';

/** An object that a worker encoded. It is parsed only if its fields are needed, as they are for documents in MongoDB. */
class ReceivedValue implements EncodedObject {
  readonly head: string;
  readonly tail: string;
  readonly flags: number;
  readonly attributes: SentValue['attributes'];
  private parsed: JsonObject | undefined;

  constructor(value: SentValue) {
    this.head = value.head;
    this.tail = value.tail;
    this.flags = value.flags;
    this.attributes = value.attributes;
  }

  get object(): JsonObject {
    if (this.parsed === undefined) {
      const object = parseObject(`${this.head}${this.tail}`);
      const { resourceVersion: _, ...metadata } = object.metadata;
      this.parsed = { ...object, metadata };
    }
    return this.parsed;
  }
}

const parseObject = (text: string): KubeObject => {
  const value = parseJson(text);
  return (isObject(value) ? value : {}) as KubeObject;
};

const sent = ({ key, revision, bytes, flags, unreadable, stale }: StoredObject): SentObject => ({
  key,
  revision,
  bytes: copyForTransfer(bytes),
  flags,
  unreadable,
  stale,
});

/** Answers a call of a worker, with what only the main thread can do for the request: the store, admission, authorization. */
export function answerCall(scope: OffloadScope, call: Call, rules: RbacRuleSource | undefined): Promise<CallResult> {
  const { span } = scope.context;
  return span === undefined ? answer(scope, call, rules) : span.run(() => answer(scope, call, rules));
}

async function answer(scope: OffloadScope, call: Call, rules: RbacRuleSource | undefined): Promise<CallResult> {
  const { context, environment, served, storage } = scope;
  switch (call.method) {
    case 'get': {
      const stored = await storage.backend(context).get(call.resource, call.key);
      return stored === undefined ? undefined : sent(stored);
    }
    case 'write': {
      const { resource, key, expected, value } = call;
      context.cancellation.throwIfAborted();
      if (served.definition?.offloadable.retired.aborted === true) throw definitionChanged();
      const result = await storage.backend(context).write({
        resource,
        key,
        expected,
        value: value === undefined ? undefined : new ReceivedValue(value),
      });
      return sentResult(result);
    }
    case 'admit':
    case 'validate':
      return admit(scope, call.method, call.attributes);
    case 'authorize':
      return environment.authorizer.authorize(call.attributes, context.signal);
    case 'policyRules':
      return requireRules(rules).policyRulesFor(call.user, call.namespace);
    case 'roleRules':
      return requireRules(rules).roleRules(call.ref, call.namespace);
    case 'review': {
      const review = served.definition?.offloadable.review;
      if (review === undefined) throw new Error('no conversion webhook is configured for this type');
      const { signal } = context;
      // Waiting any longer would keep the worker from other requests.
      return untilAborted(review(call.body), signal, () => signal.reason as Error);
    }
  }
}

function requireRules(rules: RbacRuleSource | undefined): RbacRuleSource {
  if (rules === undefined) throw new Error('RBAC rules are not available');
  return rules;
}

function sentResult(result: WriteResult): CallResults['write'] {
  const object = result.outcome === 'committed' ? result.object : result.current;
  return { committed: result.outcome === 'committed', object: object === undefined ? undefined : sent(object) };
}

async function admit(
  scope: OffloadScope,
  method: 'admit' | 'validate',
  given: SentAdmission,
): Promise<string | undefined> {
  const { context, served, environment } = scope;
  const { admission } = environment;
  const object = given.object === undefined ? undefined : parseObject(given.object);
  const oldObject = given.oldObject === undefined ? undefined : parseObject(given.oldObject);
  const options = parseObject(given.options);
  const attributes: AdmissionAttributes = {
    ...admissionAttributes(context, served, { ...given, object, oldObject, options }),
    dryRun: given.dryRun,
  };
  await admission[method](attributes);
  return method === 'admit' && object !== undefined ? stringifyJson(object) : undefined;
}

/** A message about the progress of a request. */
type ProgressMessage = Extract<
  FromWorker,
  { readonly type: 'warning' | 'annotation' | 'audit' | 'converted' | 'spent' }
>;

/** Records a worker's message with its request, if it has one: warnings, audit annotations and objects, latencies. */
export function recordProgress(context: OffloadScope['context'] | undefined, notice: ProgressMessage): void {
  switch (notice.type) {
    case 'warning':
      context?.warn(notice.text);
      return;
    case 'annotation':
      context?.annotate(notice.key, notice.value, notice.level);
      return;
    case 'audit': {
      const { text } = notice;
      if (notice.what === 'request') context?.audit?.requestObject(() => parseJson(text));
      else if (notice.what === 'response') context?.audit?.responseObject(() => parseJson(text));
      else context?.audit?.responseStatus(parseJson(text) as Status);
      return;
    }
    case 'converted':
      observeConversion(notice.conversion);
      return;
    case 'spent':
      context?.stopwatch?.record(notice.layer, notice.millis);
  }
}
