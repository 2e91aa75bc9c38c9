import type { AdmissionSources, NamespaceSource, ParamSource } from '../../../admission/sources.js';
import { isOfAdoption } from '../../../adoption/protocol/names.js';
import { ClusterConfigurations } from '../../../aggregation/admission/cluster-configurations.js';
import { ClusterParams } from '../../../aggregation/admission/cluster-params.js';
import { formatGroupVersionKind, type GroupVersionKind } from '../../../apimachinery/meta/meta.js';
import type { ClusterClient } from '../../../client/cluster-client.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import type { Logger } from '../../../util/logger.js';
import type { ClusterAdmissionMetrics } from '../../metrics/aggregation-metrics.js';
import type { ClusterLinks } from '../../health/cluster-links.js';
import type { PlaneCheck } from '../../health/store-checks.js';

/** The interval at which an unreadable kind of params is logged again. */
const REPEAT_MILLIS = 600_000;

export interface ClusterAdmissionOptions {
  readonly client: Pick<ClusterClient, 'call' | 'follow'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ClusterAdmissionMetrics;
  readonly links: ClusterLinks;
  readonly namespaces: NamespaceSource;
  /** Params of the kinds that this server serves. */
  readonly ownParams: ParamSource;
}

/** The admission configuration of the cluster. Provides its sources, and reports their state in the log, in metrics, and in /readyz. */
export class ClusterAdmission {
  readonly sources: AdmissionSources;
  private readonly followed: readonly ClusterConfigurations[];
  private readonly params: ClusterParams;
  private readonly broken = new Map<string, string>();
  private readonly lastLogged = new Map<string, { readonly text: string; readonly at: number }>();

  constructor(private readonly options: ClusterAdmissionOptions) {
    const { client, clock, namespaces, ownParams } = options;
    this.params = new ClusterParams({ client, clock, local: ownParams, events: this.paramEvents() });
    const configurations = {
      mutatingWebhooks: this.configurations('MutatingWebhookConfiguration', 'mutatingwebhookconfigurations'),
      validatingWebhooks: this.configurations('ValidatingWebhookConfiguration', 'validatingwebhookconfigurations'),
      mutatingPolicies: this.configurations('MutatingAdmissionPolicy', 'mutatingadmissionpolicies'),
      mutatingPolicyBindings: this.configurations('MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings'),
      validatingPolicies: this.configurations('ValidatingAdmissionPolicy', 'validatingadmissionpolicies'),
      validatingPolicyBindings: this.configurations(
        'ValidatingAdmissionPolicyBinding',
        'validatingadmissionpolicybindings',
      ),
    };
    this.followed = Object.values(configurations);
    this.sources = { ...configurations, params: this.params, namespaces };
    options.metrics.followed = this.followed;
  }

  start(signal: AbortSignal): void {
    for (const source of this.followed) void source.follow(signal);
    signal.addEventListener('abort', () => this.params.stop(), { once: true });
  }

  /** Passes once all configurations of the cluster are known. They stay in use if the cluster cannot be reached later. */
  readonly check: PlaneCheck = {
    name: 'admission-configurations',
    endpoints: ['readyz'],
    check: () => {
      const missing = this.followed.filter((source) => !source.synced());
      if (missing.length === 0) return;
      const reasons = missing.map(({ resource }) => `${resource} (${this.broken.get(resource) ?? 'not listed yet'})`);
      throw new Error(`admission has not yet read these from the cluster: ${reasons.join(', ')}`);
    },
  };

  private configurations(kind: string, resource: string): ClusterConfigurations {
    const { client, clock, links, logger } = this.options;
    return new ClusterConfigurations({
      client,
      clock,
      resource,
      kind,
      ignores: isOfAdoption,
      events: {
        changed: (_, what) => logger.info(`following ${resource} of the cluster: ${what}`),
        broken: (_, error) => {
          this.broken.set(resource, messageOf(error));
          links.broken('admission', `${resource}: ${messageOf(error)}`);
        },
        responded: () => {
          this.broken.delete(resource);
          if (this.broken.size === 0) links.restored('admission');
        },
      },
    });
  }

  private paramEvents(): {
    broken(kind: GroupVersionKind, error: unknown): void;
    responded(kind: GroupVersionKind): void;
    forgotten(kind: GroupVersionKind): void;
  } {
    const { clock, logger, metrics } = this.options;
    return {
      broken: (kind, error) => {
        const name = formatGroupVersionKind(kind);
        metrics.unreadableParams.withLabelValues(name).value = 1;
        const text = messageOf(error);
        const now = clock.monotonic();
        const before = this.lastLogged.get(name);
        if (before?.text === text && now - before.at < REPEAT_MILLIS) return;
        this.lastLogged.set(name, { text, at: now });
        logger.warn(
          `cannot read params of kind ${name}: ${text}; policies that refer to them apply their failurePolicy; grant Annex list and watch on them`,
        );
      },
      responded: (kind) => {
        const name = formatGroupVersionKind(kind);
        metrics.unreadableParams.withLabelValues(name).value = 0;
        if (this.lastLogged.delete(name)) logger.info(`params of kind ${name} are readable again`);
      },
      forgotten: (kind) => {
        const name = formatGroupVersionKind(kind);
        metrics.unreadableParams.deleteLabelValues(name);
        this.lastLogged.delete(name);
      },
    };
  }
}
