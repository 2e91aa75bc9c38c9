import type { Registry } from 'prom-client';
import { certificateFaults } from '../../client/webhook/peer-certificates.js';
import { metricsOf } from '../../util/metrics/metrics.js';

/** Registers metrics of the faults in the certificates of called webhooks, under kube-apiserver's names. */
export function registerWebhookCertificates(registry: Registry): void {
  const { counterFunc } = metricsOf(registry);
  counterFunc(
    'apiserver_webhooks_x509_missing_san_total',
    'Counts the number of requests to servers missing SAN extension in their serving certificate OR the number of connection failures due to the lack of x509 certificate SAN extension missing (either/or, based on the runtime environment)',
    () => certificateFaults.missingSan,
  );
  counterFunc(
    'apiserver_webhooks_x509_insecure_sha1_total',
    'Counts the number of requests to servers with insecure SHA1 signatures in their serving certificate OR the number of connection failures due to the insecure SHA1 signatures (either/or, based on the runtime environment)',
    () => certificateFaults.insecureSha1,
  );
}
