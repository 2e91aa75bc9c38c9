import { metricsOf } from '../../../util/metrics/metrics.js';

const { counter, histogram } = metricsOf();

/** The reason why a conversion by a webhook failed, as a label value of kube-apiserver's metrics. */
export type ConversionFailure =
  | 'conversion_webhook_call_failure'
  | 'conversion_webhook_malformed_response_failure'
  | 'conversion_webhook_partial_response_failure'
  | 'conversion_webhook_invalid_converted_object_failure';

const ASKED = ['result', 'failure_type'];

const requests = counter(
  'apiserver_conversion_webhook_request_total',
  'Counter for conversion webhook requests with success/failure and failure error type',
  ASKED,
);

const latencies = histogram(
  'apiserver_conversion_webhook_duration_seconds',
  'Conversion webhook request latency',
  ASKED,
  [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60],
);

const conversions = histogram(
  'apiserver_crd_conversion_webhook_duration_seconds',
  'CRD webhook conversion duration in seconds',
  ['crd_name', 'from_version', 'to_version', 'succeeded'],
  Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i),
);

/** The outcome of a webhook's conversion of a definition's objects from one version to another. */
export interface AskedConversion {
  readonly definition: string;
  readonly from: string;
  readonly to: string;
  readonly seconds: number;
  readonly failure: ConversionFailure | undefined;
}

/** Records the end of one request to a webhook. */
export function observeConversion({ definition, from, to, seconds, failure }: AskedConversion): void {
  const result = failure === undefined ? 'success' : 'failure';
  requests.cell(result, failure ?? '').inc();
  latencies.cell(result, failure ?? '').observe(seconds);
  conversions.cell(definition, from, to, String(failure === undefined)).observe(seconds);
}
