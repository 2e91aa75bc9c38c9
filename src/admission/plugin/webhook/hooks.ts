import { type JsonObject, objectAt, objectsOf, stringAt, stringsOf, textAt } from '../../../apimachinery/json/json.js';
import type { GroupResource, KubeObject } from '../../../apimachinery/meta/meta.js';
import {
  compileMatchConditions,
  type MatchConditions,
  type MatchConditionsMetrics,
} from '../../cel/match-conditions.js';
import { isConfigurationResource } from '../../matching/match.js';
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

/**
 * The webhooks of all configurations of one kind, sorted by the name of the configuration, then in the order of its list. Those from
 * files come first.
 */
export class Hooks {
  private readonly compiled = new WeakMap<KubeObject, readonly Hook[]>();
  private generation = -1;
  private all: readonly IndexedHook[] = [];
  /** The number of webhooks from files. */
  private fixed = 0;
  private readonly byResource = new Map<string, readonly IndexedHook[]>();

  constructor(
    private readonly source: ConfigurationSource,
    private readonly files: ConfigurationSource | undefined,
    private readonly type: HookType,
    private readonly metrics: MatchConditionsMetrics | undefined,
  ) {}

  /** Reports whether the configurations have been listed. */
  synced(): boolean {
    return this.source.synced();
  }

  /** Reports whether the webhooks that may match requests for a resource are known. */
  isReadyFor(resource: GroupResource): boolean {
    return this.source.synced() || isConfigurationResource(resource);
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
      const eligible = isConfigurationResource(resource) ? this.all.slice(0, this.fixed) : this.all;
      known = eligible.filter(({ hook }) => mayMatchResource(hook.criteria, resource));
      if (this.byResource.size >= MAX_RESOURCES) this.byResource.clear();
      this.byResource.set(key, known);
    }
    return known;
  }

  private refresh(): void {
    const { source, files } = this;
    const generation = source.generation + (files?.generation ?? 0);
    if (generation === this.generation) return;
    this.generation = generation;
    this.byResource.clear();
    const fixed = (files?.objects() ?? []).flatMap((configuration) => this.hooksOf(configuration, 'manifest/'));
    const others = source.objects().flatMap((configuration) => this.hooksOf(configuration, ''));
    this.fixed = fixed.length;
    this.all = [...fixed, ...others].map((hook, index) => ({ hook, index }));
  }

  private hooksOf(configuration: KubeObject, prefix: string): readonly Hook[] {
    let known = this.compiled.get(configuration);
    if (known === undefined) this.compiled.set(configuration, (known = this.compile(configuration, prefix)));
    return known;
  }

  private compile(configuration: KubeObject, prefix: string): readonly Hook[] {
    const seen = new Map<string, number>();
    const configurationName = configuration.metadata.name ?? '';
    return objectsOf(configuration['webhooks']).map((webhook) => {
      const name = textAt(webhook, 'name');
      const times = seen.get(name) ?? 0;
      seen.set(name, times + 1);
      return {
        ...this.hook(webhook, name, configurationName),
        id: `${prefix}${configurationName}/${name}/${String(times)}`,
      };
    });
  }

  private hook(webhook: JsonObject, name: string, configuration: string): Omit<Hook, 'id'> {
    const ignoresFailures = stringAt(webhook, 'failurePolicy') === 'Ignore';
    const { timeoutSeconds } = webhook;
    const failurePolicy = ignoresFailures ? 'Ignore' : 'Fail';
    const type = this.type === 'admit' ? 'admit' : 'validate';
    return {
      name,
      configuration,
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
