import { metricsOf } from '../../../util/metrics/metrics.js';

const { counter, histogram } = metricsOf();

/** The reason why a conversion by a webhook failed, as a label value of kube-apiserver's metrics. */
export type ConversionFailure =
  | 'conversion_webhook_call_failure'
  | 'conversion_webhook_malformed_response_failure'
  | 'conversion_webhook_partial_response_failure'
  | 'conversion_webhook_invalid_converted_object_failure';

const LABEL_NAMES = ['result', 'failure_type'];

const requests = counter(
  'apiserver_conversion_webhook_request_total',
  'Counter for conversion webhook requests with success/failure and failure error type',
  LABEL_NAMES,
);

const latencies = histogram(
  'apiserver_conversion_webhook_duration_seconds',
  'Conversion webhook request latency',
  LABEL_NAMES,
  [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60],
);

const conversions = histogram(
  'apiserver_crd_conversion_webhook_duration_seconds',
  'CRD webhook conversion duration in seconds',
  ['crd_name', 'from_version', 'to_version', 'succeeded'],
  Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i),
);

/** The outcome of a webhook's conversion of a definition's objects from one version to another. */
export interface ConversionOutcome {
  readonly definition: string;
  readonly from: string;
  readonly to: string;
  readonly seconds: number;
  readonly failure: ConversionFailure | undefined;
}

/** Records the end of one request to a webhook. */
export function observeConversion({ definition, from, to, seconds, failure }: ConversionOutcome): void {
  const result = failure === undefined ? 'success' : 'failure';
  requests.withLabelValues(result, failure ?? '').inc();
  latencies.withLabelValues(result, failure ?? '').observe(seconds);
  conversions.withLabelValues(definition, from, to, String(failure === undefined)).observe(seconds);
}
