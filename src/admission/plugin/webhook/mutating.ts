import { newInternalError } from '../../../apimachinery/meta/errors.js';
import { goJson, type GroupVersionKind } from '../../../apimachinery/meta/meta.js';
import { messageOf } from '../../../util/error-message.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';
import { replaceContents } from '../../replace-contents.js';
import type { AdmissionAttributes, AdmissionPlugin, VersionedResource } from '../../interfaces.js';
import { isExempt } from '../../matching/match.js';
import { Reinvocation } from '../../reinvocation.js';
import { ReinvokeContext } from '../reinvoke-context.js';
import { whenReady } from '../when-ready.js';
import type { ConfigurationSource } from '../../sources.js';
import { callHook, failOpen, type Invocation, observed, requestTimeout, type WebhookDependencies } from './caller.js';
import { type Hook, Hooks, type IndexedHook } from './hooks.js';
import { applyPatch } from './patch.js';
import { ReviewedObjects } from './review.js';
import { shouldCall } from './should-call.js';
import { convert, objectsAs, sameKind } from './versions.js';

const NAME = 'MutatingAdmissionWebhook';
const MUTATION = 'mutation.webhook.admission.k8s.io/';
const PATCH = 'patch.webhook.admission.k8s.io/';
const FAILED_OPEN = `failed-open.${MUTATION}`;

/** Calls the webhooks of MutatingWebhookConfigurations in sequence. Each receives the object as the previous ones left it. */
export function mutatingWebhooks(
  source: ConfigurationSource,
  dependencies: WebhookDependencies,
  files?: ConfigurationSource,
): AdmissionPlugin {
  const hooks = new Hooks(source, files, 'admit', dependencies.conditions);
  return {
    name: NAME,
    handles: () => true,
    readsObjects: (resource) => !hooks.synced() || hooks.hooksFor(resource).length > 0,
    admit(attributes, reinvocation = new Reinvocation()) {
      if (isExempt(attributes)) return;
      const dispatch = (): MaybePromise<void> => {
        const found = hooks.hooksFor(attributes.resource);
        if (found.length > 0) return new MutatingDispatch(attributes, reinvocation, dependencies).run(found);
      };
      return hooks.isReadyFor(attributes.resource)
        ? dispatch()
        : whenReady(hooks, attributes, dependencies.clock).then(dispatch);
    },
  };
}

/** One pass over the webhooks. */
class MutatingDispatch {
  private readonly reinvokeContext: ReinvokeContext;
  /** The objects in the version that was requested last. */
  private objects: ReviewedObjects | undefined;
  private kind: GroupVersionKind;
  private dirty = false;

  constructor(
    private readonly attributes: AdmissionAttributes,
    private readonly reinvocation: Reinvocation,
    private readonly dependencies: WebhookDependencies,
  ) {
    this.reinvokeContext = reinvocation.state(NAME, () => new ReinvokeContext());
    this.kind = attributes.kind;
  }

  async run(hooks: readonly IndexedHook[]): Promise<void> {
    const { attributes, reinvokeContext, reinvocation } = this;
    if (reinvocation.isReinvoked && reinvokeContext.isOutputChanged(attributes.object))
      reinvokeContext.requireReinvokingPreviouslyInvoked();
    for (const placed of hooks) await this.invokeIfMatched(placed);
    if (this.dirty) await this.writeBack();
    if (hooks.some(({ hook }) => hook.reinvoked)) reinvokeContext.setLastOutput(attributes.object);
  }

  /** Returns the attributes with the current object, in whatever version it is. */
  private current(): AdmissionAttributes {
    const { attributes, objects } = this;
    return objects === undefined ? attributes : { ...attributes, object: objects.object };
  }

  private async invokeIfMatched({ hook, index }: IndexedHook): Promise<void> {
    const { attributes, dependencies, reinvokeContext, reinvocation } = this;
    const matched = await shouldCall(hook, this.current(), (wanted) => this.objectsIn(wanted), dependencies);
    if (matched === undefined) return;
    // A webhook is never called for the first time in the second round.
    if (reinvocation.isReinvoked && !reinvokeContext.shouldReinvoke(hook.id)) return;
    const objects = await this.objectsIn(matched).catch((error: unknown) => {
      throw newInternalError(messageOf(error));
    });
    const invocation: Invocation = { hook, type: 'admit', attributes, matched, objects };
    const place = `round_${reinvocation.isReinvoked ? '1' : '0'}_index_${String(index)}`;
    const { result: changed = false, failure } = await observed(invocation, dependencies, () =>
      this.mutate(invocation, place),
    );
    attributes.annotate(MUTATION + place, `{${identity(hook)},"mutated":${String(changed)}}`);
    if (changed) {
      reinvokeContext.requireReinvokingPreviouslyInvoked();
      reinvocation.request();
    }
    if (hook.reinvoked) reinvokeContext.addReinvocable(hook.id);
    if (failure === undefined) return;
    const refusal = failOpen(invocation, dependencies, failure, FAILED_OPEN + place);
    if (refusal !== undefined) throw refusal as Error;
    if (attributes.cancellation.aborted) throw requestTimeout();
  }

  /** Calls the webhook and applies its patch; returns true if the object changed. */
  private async mutate(invocation: Invocation, place: string): Promise<boolean> {
    const { hook, matched, objects } = invocation;
    const { patch, patchType = '', status } = await callHook(invocation, this.dependencies);
    const made = applyPatch(
      { hook, patch, patchType, status, object: objects.object, kind: matched.kind },
      this.attributes,
    );
    if (made === undefined) return false;
    const { object, operations, changed } = made;
    const annotation = `{${identity(hook)},"patch":${operations},"patchType":"JSONPatch"}`;
    this.attributes.annotate(PATCH + place, annotation, 'Request');
    objects.replace(object);
    this.dirty = true;
    return changed;
  }

  private async objectsIn(matched: VersionedResource): Promise<ReviewedObjects> {
    const { attributes, objects } = this;
    try {
      if (objects === undefined) this.objects = await objectsAs(attributes, matched.kind);
      else if (!sameKind(this.kind, matched.kind)) {
        const old = await convert(attributes, attributes.oldObject, attributes.kind, matched.kind);
        if (this.dirty) await this.writeBack();
        this.objects = new ReviewedObjects(
          await convert(attributes, attributes.object, attributes.kind, matched.kind),
          old,
        );
      }
    } catch (error) {
      throw newInternalError(messageOf(error));
    }
    this.kind = matched.kind;
    return this.objects as ReviewedObjects;
  }

  /** Converts the result to the request's version and stores it in the request's object. */
  private async writeBack(): Promise<void> {
    const { attributes, objects } = this;
    const made = await convert(attributes, objects?.object, this.kind, attributes.kind);
    if (made !== undefined) replaceContents(attributes, made);
    this.dirty = false;
  }
}

/** Returns the first members of an annotation, in kube-apiserver's order. */
const identity = ({ configuration, name }: Hook): string =>
  `"configuration":${goJson(configuration)},"webhook":${goJson(name)}`;
