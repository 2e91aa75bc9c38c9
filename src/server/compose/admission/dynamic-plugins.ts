import type { Registry } from 'prom-client';
import { matchConditionsMetrics } from '../../../admission/cel/metrics.js';
import type { AdmissionPlugin } from '../../../admission/interfaces.js';
import { mutatingPolicyMetrics, validatingPolicyMetrics } from '../../../admission/plugin/policy/metrics.js';
import { mutatingAdmissionPolicy } from '../../../admission/plugin/policy/mutating/mutating.js';
import { validatingAdmissionPolicy } from '../../../admission/plugin/policy/validating/validating.js';
import type { WebhookPoster } from '../../../admission/plugin/webhook/caller.js';
import { WebhookMetrics } from '../../../admission/plugin/webhook/metrics.js';
import { mutatingWebhooks } from '../../../admission/plugin/webhook/mutating.js';
import { validatingWebhooks } from '../../../admission/plugin/webhook/validating.js';
import { unimplementedPlugins, enabledPlugins, type PluginFlags } from '../../../admission/plugin-names.js';
import type { AdmissionSources, StaticSources } from '../../../admission/sources.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import type { Clock } from '../../../util/clock.js';
import type { Logger } from '../../../util/logger.js';

/** The dependencies of the plugins that follow configurations, in either mode. */
export interface DynamicPluginDependencies {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  readonly sources: AdmissionSources;
  /** The configurations from files. */
  readonly files: StaticSources;
  /** The registry for the metrics of the plugins. */
  readonly metrics: Registry;
  /** The clients that call admission webhooks. */
  readonly webhooks: { readonly mutating: WebhookPoster; readonly validating: WebhookPoster };
}

/** Plugin constructors by name. A constructor returns undefined if its plugin does not run in this server. */
export type PluginConstructors = Readonly<Record<string, () => AdmissionPlugin | undefined>>;

/** Returns the plugins that the flags enable and that `constructors` can construct, in kube-apiserver's order. */
export function constructEnabledPlugins(
  { options, logger }: { readonly options: PluginFlags; readonly logger: Logger },
  constructors: PluginConstructors,
): AdmissionPlugin[] {
  const absent = unimplementedPlugins(options);
  if (absent.length > 0) logger.info('these admission plugins have no effect here', { plugins: absent.join(', ') });
  const byName = new Map(Object.entries(constructors));
  return enabledPlugins(options).flatMap((name) => byName.get(name)?.() ?? []);
}

/** Returns the constructors of the plugins that follow configurations: policies and webhooks. */
export function dynamicPlugins(dependencies: DynamicPluginDependencies): PluginConstructors {
  const { authorizer, clock, metrics, sources, files, webhooks, logger } = dependencies;
  const common = { authorizer, clock, sources, files, conditionMetrics: matchConditionsMetrics(clock, metrics) };
  const ofWebhooks = {
    namespaces: sources.namespaces,
    authorizer,
    clock,
    metrics: new WebhookMetrics(metrics),
    conditions: common.conditionMetrics,
    onFailure: (webhook: string, error: Error) =>
      logger.warn('webhook failed; failurePolicy Ignore admits the request', { webhook, error: error.message }),
  };
  return {
    MutatingAdmissionPolicy: () => mutatingAdmissionPolicy({ ...common, metrics: mutatingPolicyMetrics(metrics) }),
    MutatingAdmissionWebhook: () =>
      mutatingWebhooks(sources.mutatingWebhooks, { ...ofWebhooks, poster: webhooks.mutating }, files.mutatingWebhooks),
    ValidatingAdmissionPolicy: () =>
      validatingAdmissionPolicy({ ...common, metrics: validatingPolicyMetrics(metrics) }),
    ValidatingAdmissionWebhook: () =>
      validatingWebhooks(
        sources.validatingWebhooks,
        { ...ofWebhooks, poster: webhooks.validating },
        files.validatingWebhooks,
      ),
  };
}
