import { type OpenMetricsContentType, Registry } from 'prom-client';

/** Whether a scraper takes the format that can show exemplars. */
export const acceptsOpenMetrics = (accept: string | undefined): boolean =>
  accept?.includes('application/openmetrics-text') === true;

interface Shown {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly object[];
}

/**
 * All metrics of a registry as OpenMetrics text, which shows exemplars. Series keep the names that they have in Prometheus' own format:
 * a counter whose name does not end as OpenMetrics wants it is shown without its type. (prom-client renames metrics in place instead.)
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
    // Its type is what `get` says: by this one prom-client would rename it.
    shown.registerMetric({ name, help, type: 'unknown', get } as never);
  }
  return { contentType: shown.contentType, text: await shown.metrics() };
}
