import { CURRENT_MINOR } from '../../util/effective-version.js';
import type { MetricConfiguration } from '../../util/metrics/metric-lifecycle.js';
import { array, FlagError, flagsOf, type FlagValues, list, text } from './flags.js';

const flag = flagsOf('Metrics flags:');
const PREVIOUS = `1.${String(CURRENT_MINOR - 1)}`;

/** Flags that select what /metrics exposes. */
export const METRICS_FLAGS = {
  showHiddenMetricsForVersion: flag(
    'show-hidden-metrics-for-version',
    text,
    '',
    `Previous minor version of Kubernetes, ${PREVIOUS}, whose deprecated metrics are shown although this version hides them.`,
  ),
  disabledMetrics: flag(
    'disabled-metrics',
    list,
    [],
    'Names of metrics that are not exposed. Takes precedence over --show-hidden-metrics-for-version.',
  ),
  allowMetricLabels: flag(
    'allow-metric-labels',
    array,
    [],
    'Allowed values of a metric label, as <metric>,<label>=\'<value>,<value>\'; other values are counted as "unexpected". The flag may be given several times.',
  ),
};

type Values = FlagValues<typeof METRICS_FLAGS>;

export function validateMetricsOptions(options: Values): void {
  const { showHiddenMetricsForVersion: version } = options;
  if (version !== '' && version !== PREVIOUS) {
    throw new FlagError(
      `metrics.showHiddenMetricsForVersion: Invalid value: ${JSON.stringify(version)}: must be omitted or have the value '${PREVIOUS}'; only the previous minor version is allowed`,
    );
  }
  allowedLabels(options.allowMetricLabels);
}

export function metricConfiguration(options: Values): MetricConfiguration {
  return {
    showHidden: options.showHiddenMetricsForVersion !== '',
    disabled: options.disabledMetrics.filter((name) => name !== ''),
    allowed: allowedLabels(options.allowMetricLabels),
  };
}

function allowedLabels(mappings: readonly string[]): Map<string, ReadonlySet<string>> {
  return new Map(
    mappings.map((mapping) => {
      const parts = /^([^,=\s]+,[^,=\s]+)=(['"]?)([^'"]*)\2$/.exec(mapping.trim());
      if (parts === null) {
        throw new FlagError(
          `invalid argument ${JSON.stringify(mapping)} for --allow-metric-labels: must be <metric>,<label>='<value>,<value>'`,
        );
      }
      return [parts[1] ?? '', new Set((parts[3] ?? '').split(',').map((value) => value.trim()))];
    }),
  );
}
