import type { Registry } from 'prom-client';
import { CounterVec, HistogramVec } from '../../../util/metrics/metrics.js';
import type { AdmissionOperation } from '../../interfaces.js';
import type { HookType } from './hooks.js';

export type RejectionError = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';

const DURATIONS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
const MAX_CODE = 600;
const PREFIX = 'apiserver_admission_webhook_';

const codeText = (code: number): string => String(Math.max(0, Math.min(Math.trunc(code) || 0, MAX_CODE)));

/** Metrics of webhooks, under kube-apiserver's names. Create them once per registry. */
export class WebhookMetrics {
  private readonly durations: HistogramVec;
  private readonly requests: CounterVec;
  private readonly rejections: CounterVec;
  private readonly failOpen: CounterVec;

  constructor(registry: Registry) {
    this.durations = new HistogramVec(
      {
        name: `${PREFIX}admission_duration_seconds`,
        help: 'Webhook latency in seconds, by webhook name, operation, type (admit or validating) and whether the webhook rejected the request.',
        labels: ['name', 'type', 'operation', 'rejected'],
      },
      DURATIONS,
      registry,
    );
    this.requests = new CounterVec(
      {
        name: `${PREFIX}request_total`,
        help: 'Webhook calls, by response status and whether the request was rejected. Codes above 600 are counted as 600.',
        labels: ['name', 'type', 'operation', 'code', 'rejected'],
      },
      registry,
    );
    this.rejections = new CounterVec(
      {
        name: `${PREFIX}rejection_count`,
        help: 'Requests rejected by a webhook, by error type (no_error: the webhook denied the request) and rejection code. Codes above 600 are counted as 600.',
        labels: ['name', 'type', 'operation', 'error_type', 'rejection_code'],
      },
      registry,
    );
    this.failOpen = new CounterVec(
      {
        name: `${PREFIX}fail_open_count`,
        help: 'Requests that continued although a webhook could not be called, because its failurePolicy is Ignore.',
        labels: ['name', 'type'],
      },
      registry,
    );
  }

  called(
    name: string,
    type: HookType,
    operation: AdmissionOperation,
    rejected: boolean,
    code: number,
    millis: number,
  ): void {
    this.requests.withLabelValues(name, type, operation, codeText(code), String(rejected)).inc();
    this.durations.withLabelValues(name, type, operation, String(rejected)).observe(millis / 1000);
  }

  rejected(name: string, type: HookType, operation: AdmissionOperation, error: RejectionError, code: number): void {
    this.rejections.withLabelValues(name, type, operation, error, codeText(code)).inc();
  }

  failedOpen(name: string, type: HookType): void {
    this.failOpen.withLabelValues(name, type).inc();
  }
}
