import { getOwn } from '../get-own.js';
import { CURRENT_MINOR } from '../effective-version.js';

/** The stability level of a metric (KEP-1209). */
export type Stability = 'ALPHA' | 'BETA' | 'STABLE';

interface Lifecycle {
  readonly stability: Stability;
  /** The minor version of Kubernetes 1.x that deprecated the metric. */
  readonly deprecated?: number;
  /** The minor version that hides it here, if it stays longer than in kube-apiserver. */
  readonly hidden?: number;
}

const ALPHA: Lifecycle = { stability: 'ALPHA' };

/** The metrics with a stability level above ALPHA, as declared by kube-apiserver v1.37. */
const LIFECYCLES: Readonly<Record<string, Lifecycle>> = {
  ...levels(
    'STABLE',
    `apiserver_admission_controller_admission_duration_seconds apiserver_admission_step_admission_duration_seconds
    apiserver_admission_webhook_admission_duration_seconds apiserver_current_inflight_requests
    apiserver_longrunning_requests apiserver_request_duration_seconds apiserver_request_total
    apiserver_requested_deprecated_apis apiserver_response_sizes kubernetes_healthcheck kubernetes_healthchecks_total`,
  ),
  ...levels(
    'BETA',
    `apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds
    apiserver_authentication_config_controller_automatic_reloads_total
    apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds
    apiserver_authorization_config_controller_automatic_reloads_total apiserver_cel_compilation_duration_seconds
    apiserver_cel_evaluation_duration_seconds apiserver_flowcontrol_current_executing_requests
    apiserver_flowcontrol_current_inqueue_requests apiserver_flowcontrol_request_wait_duration_seconds
    apiserver_storage_events_received_total
    apiserver_validating_admission_policy_check_duration_seconds apiserver_validating_admission_policy_check_total
    apiserver_validation_declarative_validation_mismatch_total apiserver_validation_declarative_validation_panic_total
    apiserver_watch_events_sizes apiserver_watch_events_total apiserver_watch_list_duration_seconds
    apiserver_webhooks_x509_insecure_sha1_total apiserver_webhooks_x509_missing_san_total disabled_metrics_total
    hidden_metrics_total kubernetes_feature_enabled registered_metrics_total serviceaccount_legacy_tokens_total
    serviceaccount_stale_tokens_total serviceaccount_valid_tokens_total workqueue_adds_total workqueue_depth
    workqueue_longest_running_processor_seconds workqueue_queue_duration_seconds workqueue_retries_total
    workqueue_unfinished_work_seconds workqueue_work_duration_seconds`,
  ),
  // kube-apiserver 1.37 hides it. Annex 0.1 was the first release to deprecate it, and a stable metric stays for three.
  apiserver_storage_objects: { stability: 'STABLE', deprecated: 34, hidden: 39 },
};

function levels(stability: Stability, names: string): Record<string, Lifecycle> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, { stability }]));
}

/** The number of minor versions for which a deprecated metric is still exposed. */
const GRACE: Readonly<Record<Stability, number>> = { ALPHA: 0, BETA: 1, STABLE: 3 };

/** Replaces a label value that is not on the allow-list. */
const UNEXPECTED = 'unexpected';

export interface MetricConfiguration {
  /** True if metrics that the current version hides are exposed. */
  readonly showHidden: boolean;
  readonly disabled: readonly string[];
  /** The allowed values of labels, by `<metric>,<label>`. */
  readonly allowed: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The lifecycle of metrics across Kubernetes versions: stability in help texts, hidden and disabled metrics, allow-lists for labels. */
export class MetricLifecycles {
  private configuration: MetricConfiguration = { showHidden: false, disabled: [], allowed: new Map() };
  /** The metrics with a label that has an allow-list. */
  private bounded = new Set<string>();
  private unexpected = 0;
  private readonly registered = new Map<string, Lifecycle>();

  constructor(
    private readonly lifecycles: Readonly<Record<string, Lifecycle>> = LIFECYCLES,
    private readonly current = CURRENT_MINOR,
  ) {}

  /** Applies the flags. Called once at startup. */
  configure(configuration: MetricConfiguration): void {
    this.configuration = configuration;
    this.bounded = new Set([...configuration.allowed.keys()].map((key) => key.slice(0, key.indexOf(','))));
  }

  /** Registers a metric and returns its help text with the stability level and the deprecation. */
  register(name: string, help: string): string {
    const lifecycle = this.of(name);
    this.registered.set(name, lifecycle);
    const { stability, deprecated } = lifecycle;
    const since = this.isDeprecated(lifecycle) ? ` (Deprecated since 1.${String(deprecated)}.0)` : '';
    return `[${stability}]${since} ${help}`;
  }

  /** Reports whether the metric is not exposed, because it is hidden or disabled. */
  isWithheld(name: string): boolean {
    return this.configuration.disabled.includes(name) || this.isHidden(name);
  }

  /** The registered metrics that are deprecated, for a warning at startup. */
  deprecated(): string[] {
    return [...this.registered].filter(([, lifecycle]) => this.isDeprecated(lifecycle)).map(([name]) => name);
  }

  counts(): { readonly hidden: number; readonly disabled: number; readonly unexpected: number } {
    const hidden = [...this.registered.keys()].filter((name) => this.isHidden(name)).length;
    return { hidden, disabled: new Set(this.configuration.disabled).size, unexpected: this.unexpected };
  }

  /** The number of registered metrics by stability level and by the version that deprecated them ('' if not deprecated). */
  *byStability(): Iterable<readonly [stability: Stability, deprecated: string, count: number]> {
    const counts = new Map<string, number>();
    for (const { stability, deprecated } of this.registered.values()) {
      const key = `${stability} ${deprecated === undefined ? '' : `1.${String(deprecated)}.0`}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    for (const [key, count] of counts) {
      const [stability, deprecated] = key.split(' ');
      yield [stability as Stability, deprecated ?? '', count];
    }
  }

  /** Replaces the label values that are not allowed, and counts them. */
  constrain(name: string, labels: readonly string[], values: readonly string[]): readonly string[] {
    if (!this.bounded.has(name)) return values;
    return values.map((value, i) => {
      const allowed = this.configuration.allowed.get(`${name},${labels[i] ?? ''}`);
      if (allowed === undefined || allowed.has(value)) return value;
      this.unexpected++;
      return UNEXPECTED;
    });
  }

  private of(name: string): Lifecycle {
    return getOwn(this.lifecycles, name) ?? ALPHA;
  }

  private isDeprecated({ deprecated }: Lifecycle): boolean {
    return deprecated !== undefined && deprecated <= this.current;
  }

  private isHidden(name: string): boolean {
    const { stability, deprecated, hidden } = this.of(name);
    if (deprecated === undefined || this.configuration.showHidden) return false;
    return (hidden ?? deprecated + GRACE[stability]) <= this.current;
  }
}

/** The lifecycles of this process. */
export const metricLifecycles = new MetricLifecycles();
