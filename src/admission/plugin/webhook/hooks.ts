import { type JsonObject, objectAt, objectsOf, stringAt, stringsOf, textAt } from '../../../apimachinery/json/json.js';
import type { GroupResource, KubeObject } from '../../../apimachinery/meta/meta.js';
import {
  compileMatchConditions,
  type MatchConditions,
  type MatchConditionsMetrics,
} from '../../cel/match-conditions.js';
import { mayMatchResource, type MatchCriteria, webhookCriteria } from '../../matching/criteria.js';
import type { ConfigurationSource } from '../../sources.js';

export type HookType = 'admit' | 'validating';
export type ReviewVersion = 'v1' | 'v1beta1';

const REVIEW_VERSIONS: readonly string[] = ['v1', 'v1beta1'];
const DEFAULT_TIMEOUT_SECONDS = 10;
/** The maximum number of resources for which the matching webhooks are cached. */
const MAX_RESOURCES = 1000;

/** One webhook of a configuration. */
export interface Hook {
  readonly name: string;
  readonly configuration: string;
  /** Unique among all webhooks, even if two of a configuration have the same name. */
  readonly id: string;
  readonly criteria: MatchCriteria;
  readonly conditions: MatchConditions;
  readonly ignoresFailures: boolean;
  readonly timeoutSeconds: number;
  /** Undefined: the webhook accepts no supported version of AdmissionReview. */
  readonly reviewVersion: ReviewVersion | undefined;
  readonly sideEffects: string | undefined;
  readonly reinvoked: boolean;
  readonly clientConfig: JsonObject;
}

/** A webhook with its index among all webhooks. */
export interface IndexedHook {
  readonly hook: Hook;
  readonly index: number;
}

/** The webhooks of all configurations of one kind, sorted by the name of the configuration, then in the order of its list. */
export class Hooks {
  private readonly compiled = new WeakMap<KubeObject, readonly Hook[]>();
  private generation = -1;
  private all: readonly IndexedHook[] = [];
  private readonly byResource = new Map<string, readonly IndexedHook[]>();

  constructor(
    private readonly source: ConfigurationSource,
    private readonly type: HookType,
    private readonly metrics: MatchConditionsMetrics | undefined,
  ) {}

  /** Reports whether the configurations have been listed. */
  synced(): boolean {
    return this.source.synced();
  }

  whenSynced(): Promise<void> {
    return this.source.whenSynced();
  }

  /** Returns the webhooks that may match requests for a resource. */
  hooksFor(resource: GroupResource): readonly IndexedHook[] {
    this.refresh();
    if (this.all.length === 0) return this.all;
    const key = `${resource.resource}.${resource.group}`;
    let known = this.byResource.get(key);
    if (known === undefined) {
      known = this.all.filter(({ hook }) => mayMatchResource(hook.criteria, resource));
      if (this.byResource.size >= MAX_RESOURCES) this.byResource.clear();
      this.byResource.set(key, known);
    }
    return known;
  }

  private refresh(): void {
    const { generation } = this.source;
    if (generation === this.generation) return;
    this.generation = generation;
    this.byResource.clear();
    const hooks = this.source.objects().flatMap((configuration) => this.hooksOf(configuration));
    this.all = hooks.map((hook, index) => ({ hook, index }));
  }

  private hooksOf(configuration: KubeObject): readonly Hook[] {
    let known = this.compiled.get(configuration);
    if (known === undefined) this.compiled.set(configuration, (known = this.compile(configuration)));
    return known;
  }

  private compile(configuration: KubeObject): readonly Hook[] {
    const seen = new Map<string, number>();
    const configurationName = configuration.metadata.name ?? '';
    return objectsOf(configuration['webhooks']).map((webhook) => {
      const name = textAt(webhook, 'name');
      const times = seen.get(name) ?? 0;
      seen.set(name, times + 1);
      return this.hook(webhook, name, configurationName, times);
    });
  }

  private hook(webhook: JsonObject, name: string, configuration: string, times: number): Hook {
    const ignoresFailures = stringAt(webhook, 'failurePolicy') === 'Ignore';
    const { timeoutSeconds } = webhook;
    const failurePolicy = ignoresFailures ? 'Ignore' : 'Fail';
    const type = this.type === 'admit' ? 'admit' : 'validate';
    return {
      name,
      configuration,
      id: `${configuration}/${name}/${String(times)}`,
      criteria: webhookCriteria(webhook),
      conditions: compileMatchConditions(
        webhook['matchConditions'],
        { kind: 'webhook', type, name, failurePolicy },
        this.metrics,
      ),
      ignoresFailures,
      timeoutSeconds: typeof timeoutSeconds === 'number' ? timeoutSeconds : DEFAULT_TIMEOUT_SECONDS,
      reviewVersion: stringsOf(webhook['admissionReviewVersions']).find(isReviewVersion),
      sideEffects: stringAt(webhook, 'sideEffects'),
      reinvoked: stringAt(webhook, 'reinvocationPolicy') === 'IfNeeded',
      clientConfig: objectAt(webhook, 'clientConfig') ?? {},
    };
  }
}

const isReviewVersion = (version: string): version is ReviewVersion => REVIEW_VERSIONS.includes(version);
