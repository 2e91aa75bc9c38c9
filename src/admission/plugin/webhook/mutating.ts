import { newInternalError } from '../../../apimachinery/meta/errors.js';
import { deepCopy, deepEqual } from '../../../apimachinery/json/json.js';
import { goJson, type GroupVersionKind, type KubeObject } from '../../../apimachinery/meta/meta.js';
import { messageOf } from '../../../util/error-message.js';
import type { MatchConditionsMetrics } from '../../cel/match-conditions.js';
import { replaceContents } from '../../replace-contents.js';
import type { AdmissionAttributes, AdmissionPlugin, VersionedResource } from '../../interfaces.js';
import { isExempt } from '../../matching/match.js';
import { Reinvocation } from '../../reinvocation.js';
import type { ConfigurationSource } from '../../sources.js';
import {
  callHook,
  type Invocation,
  observeCall,
  refusalOf,
  requestTimeout,
  type WebhookDependencies,
} from './caller.js';
import { CallError } from './errors.js';
import { type Hook, Hooks, type IndexedHook } from './hooks.js';
import { applyPatch } from './patch.js';
import { notReady, whenReady } from './ready.js';
import { ReviewedObjects } from './review.js';
import { shouldCall } from './should-call.js';
import { convert, objectsAs, sameKind } from './versions.js';

const NAME = 'MutatingAdmissionWebhook';
const MUTATION = 'mutation.webhook.admission.k8s.io/';
const PATCH = 'patch.webhook.admission.k8s.io/';
const FAILED_OPEN = `failed-open.${MUTATION}`;

type Dependencies = WebhookDependencies & { readonly conditions: MatchConditionsMetrics };

/** Calls the webhooks of MutatingWebhookConfigurations in sequence. Each receives the object as the previous ones left it. */
export function mutatingWebhooks(source: ConfigurationSource, dependencies: Dependencies): AdmissionPlugin {
  const hooks = new Hooks(source, 'admit', dependencies.conditions);
  return {
    name: NAME,
    handles: () => true,
    readsObjects: (resource) => !hooks.ready() || hooks.hooksFor(resource).length > 0,
    admit(attributes, reinvocation = new Reinvocation()) {
      if (isExempt(attributes)) return;
      const run = (concerning: readonly IndexedHook[]): Promise<void> =>
        new MutatingDispatch(attributes, reinvocation, dependencies).run(concerning);
      if (!hooks.ready()) {
        return whenReady(hooks, dependencies.clock).then((ready) => {
          if (!ready) throw notReady(attributes);
          return run(hooks.hooksFor(attributes.resource));
        });
      }
      const concerning = hooks.hooksFor(attributes.resource);
      return concerning.length === 0 ? undefined : run(concerning);
    },
  };
}

/** The state that the plugin keeps from its first round. */
class WebhookReinvokeContext {
  private output: KubeObject | undefined;
  /** Webhooks that have been called and want to be called again after a later change. */
  private readonly invoked = new Set<string>();
  private readonly toReinvoke = new Set<string>();

  isOutputChanged(object: KubeObject | undefined): boolean {
    return !deepEqual(this.output, object);
  }

  setLastOutput(object: KubeObject | undefined): void {
    this.output = deepCopy(object);
  }

  addReinvocable(hook: Hook): void {
    this.invoked.add(hook.id);
  }

  /** Marks the reinvocable webhooks called before this change to be called again. */
  requireReinvokingPreviouslyInvoked(): void {
    for (const id of this.invoked) this.toReinvoke.add(id);
    this.invoked.clear();
  }

  shouldReinvoke(hook: Hook): boolean {
    return this.toReinvoke.has(hook.id);
  }
}

/** One pass over the webhooks. */
class MutatingDispatch {
  private readonly reinvokeContext: WebhookReinvokeContext;
  /** The objects in the version that was requested last. */
  private objects: ReviewedObjects | undefined;
  private kind: GroupVersionKind;
  private dirty = false;

  constructor(
    private readonly attributes: AdmissionAttributes,
    private readonly reinvocation: Reinvocation,
    private readonly dependencies: Dependencies,
  ) {
    this.reinvokeContext = reinvocation.state(NAME, () => new WebhookReinvokeContext());
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
    if (reinvocation.isReinvoked && !reinvokeContext.shouldReinvoke(hook)) return;
    const objects = await this.objectsIn(matched).catch((error: unknown) => {
      throw newInternalError(messageOf(error));
    });
    const { clock, metrics } = dependencies;
    const invocation: Invocation = { hook, type: 'admit', attributes, matched, objects };
    const began = clock.monotonic();
    let failure: unknown;
    let changed = false;
    const place = `round_${reinvocation.isReinvoked ? '1' : '0'}_index_${String(index)}`;
    try {
      changed = await this.mutate(invocation, place);
    } catch (error) {
      failure = error;
    }
    this.attributes.annotate(MUTATION + place, `{${identity(hook)},"mutated":${String(changed)}}`);
    observeCall(invocation, metrics, clock.monotonic() - began, failure);
    if (changed) {
      reinvokeContext.requireReinvokingPreviouslyInvoked();
      reinvocation.request();
    }
    if (hook.reinvoked) reinvokeContext.addReinvocable(hook);
    if (failure !== undefined) this.failOpenOrThrow(hook, place, failure);
  }

  private failOpenOrThrow(hook: Hook, place: string, failure: unknown): void {
    const { attributes } = this;
    const { metrics, onFailure } = this.dependencies;
    if (!(failure instanceof CallError) || !hook.ignoresFailures) throw refusalOf(failure) as Error;
    if (!failure.cancelled) {
      metrics.failedOpen(hook.name, 'admit');
      attributes.annotate(FAILED_OPEN + place, hook.name);
      onFailure(hook.name, failure);
    }
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
