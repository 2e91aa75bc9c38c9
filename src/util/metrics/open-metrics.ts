import { type OpenMetricsContentType, Registry } from 'prom-client';

/** Reports whether a scraper accepts OpenMetrics, the format that supports exemplars. */
export const acceptsOpenMetrics = (accept: string | undefined): boolean =>
  accept?.includes('application/openmetrics-text') === true;

interface Shown {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly object[];
}

/**
 * Formats all metrics of a registry as OpenMetrics text, which includes exemplars. Series keep their names from the Prometheus text format:
 * a counter whose name does not have the suffix that OpenMetrics requires has an unknown type. (prom-client would rename the metric in place.)
 */
export async function openMetrics(
  registry: Registry,
): Promise<{ readonly contentType: string; readonly text: string }> {
  const shown = new Registry<OpenMetricsContentType>();
  shown.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of registry.getMetricsAsArray()) {
    const { name, help } = metric;
    const got = (): Promise<Shown> => (metric as unknown as { get(): Promise<Shown> }).get();
    const get = async (): Promise<Shown> => {
      const all = await got();
      if (all.type !== 'counter') return { ...all, name };
      if (name.endsWith('_total')) return { ...all, name: name.slice(0, -'_total'.length) };
      return { ...all, name, type: 'unknown' };
    };
    // The actual type is the one from `get`. If it were set here, prom-client would rename the metric.
    shown.registerMetric({ name, help, type: 'unknown', get } as never);
  }
  return { contentType: shown.contentType, text: await shown.metrics() };
}
