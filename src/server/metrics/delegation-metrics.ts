import type { Registry } from 'prom-client';
import type { Distrust } from '../../aggregation/trusted-headers.js';
import { type CounterVec, metricsOf } from '../../util/metrics/metrics.js';

type ReviewOutcome = 'answered' | 'failed';
const CODES: Readonly<Record<ReviewOutcome, string>> = { answered: '201', failed: '<error>' };

/** Metrics of the reviews sent to the cluster, under kube-apiserver's names. */
export class DelegationMetrics {
  private readonly authentications: CounterVec;
  private readonly authorizations: CounterVec;
  private readonly refusals: CounterVec;
  private readonly forgeries: CounterVec;

  constructor(registry: Registry) {
    const { counter } = metricsOf(registry);
    this.authentications = counter(
      'apiserver_delegated_authn_request_total',
      'Number of HTTP requests partitioned by status code.',
      ['code'],
    );
    this.authorizations = counter(
      'apiserver_delegated_authz_request_total',
      'Number of HTTP requests partitioned by status code.',
      ['code'],
    );
    this.refusals = counter(
      'annex_apiservice_refused_total',
      'Group versions not registered because their APIService belongs to another owner.',
    );
    this.forgeries = counter(
      'annex_untrusted_request_headers_total',
      'Requests with front-proxy headers but no valid front-proxy certificate; the headers were ignored.',
      ['reason'],
    );
  }

  tokenReview(outcome: ReviewOutcome): void {
    this.authentications.withLabelValues(CODES[outcome]).inc();
  }

  accessReview(outcome: ReviewOutcome): void {
    this.authorizations.withLabelValues(CODES[outcome]).inc();
  }

  forged(reason: Distrust): void {
    this.forgeries.withLabelValues(reason).inc();
  }

  refused(): void {
    this.refusals.withLabelValues().inc();
  }
}
