import { objectAt, stringAt, stringifyJson, type JsonObject } from '../../../apimachinery/json/json.js';
import { type ServiceResolver, webhookRemote } from '../../../client/webhook/client-config.js';
import { answeredObject } from '../../../client/webhook/answer.js';
import { looksLikeJson } from '../../../client/webhook/decode-answer.js';
import { HttpsTransport } from '../../../client/webhook/transport.js';
import type { Conversion, ReviewSender } from '../../../registry/customresource/conversion/conversion.js';
import type { Definition } from '../../../registry/customresource/definition.js';
import { conversionOf } from '../../../registry/customresource/conversion/webhook-conversion.js';
import type { LoopbackClient } from '../../../registry/rest/loopback-client.js';
import { BoundedCalls } from '../../../scheduling/bounded-calls.js';
import { systemClock } from '../../../util/clock.js';
import { withSpan } from '../../../util/tracing.js';
import { NEVER_ABORTED } from '../../../util/never-aborted.js';

const REVIEW = 'ConversionReview';
const REQUESTED_VERSION = /"apiVersion":"apiextensions\.k8s\.io\/(\w+)"/;
const TIMEOUT_SECONDS = 30;
/** A review has objects of one MiB together, or a single one of three. */
const MAX_ANSWER_BYTES = 8 << 20;
/** The maximum number of concurrent reviews, of those of one definition, and of those that wait for a place among them. */
const MAX_REVIEWS = 64;
const MAX_REVIEWS_OF_ONE = 16;
const MAX_WAITING = 1000;
const MAX_WAITING_OF_ONE = 500;
const WAIT_MILLIS = 10_000;

/** Returns a function that creates the conversion that a definition configures. */
export function conversions(resolve: ServiceResolver): (definition: Definition) => Conversion {
  const calls = new BoundedCalls({
    clock: systemClock,
    max: MAX_REVIEWS,
    maxPerFlow: MAX_REVIEWS_OF_ONE,
    maxWaiting: MAX_WAITING,
    maxWaitingPerFlow: MAX_WAITING_OF_ONE,
    waitMillis: WAIT_MILLIS,
  });
  const sender = (config: JsonObject, name: string): ReviewSender => {
    const inner = reviewSender(config, resolve);
    return { send: (review) => calls.run(name, () => inner.send(review)) };
  };
  return (definition) => conversionOf(definition, sender, { clock: systemClock });
}

/** Resolves services by the DNS of the cluster that the server runs in. */
export const resolveByDns: ServiceResolver = (namespace, name, port) =>
  Promise.resolve({ host: `${name}.${namespace}.svc`, port });

/** Resolves services by their stored objects, to the external name or the cluster IP. A service without an address is left to DNS. */
export function resolveByServices(services: () => Pick<LoopbackClient, 'get'>): ServiceResolver {
  return async (namespace, name, port) => {
    const service = await services().get(namespace, name);
    if (service === undefined) throw new Error(`service "${name}" not found`);
    const spec = objectAt(service, 'spec') ?? {};
    const externalName = stringAt(spec, 'externalName') ?? '';
    if (stringAt(spec, 'type') === 'ExternalName') return { host: externalName, port };
    const ports = Array.isArray(spec['ports']) ? (spec['ports'] as JsonObject[]) : [];
    if (!ports.some((candidate) => candidate['port'] === port)) {
      throw new Error(`no service port ${port} found for service "${name}"`);
    }
    const clusterIp = stringAt(spec, 'clusterIP') ?? '';
    if (clusterIp === 'None') throw new Error('cannot route to service with ClusterIP "None"');
    return clusterIp === '' ? resolveByDns(namespace, name, port) : { host: clusterIp, port };
  };
}

function reviewSender(config: JsonObject, resolve: ServiceResolver): ReviewSender {
  const transport = new HttpsTransport(
    { ...webhookRemote(config, resolve, TIMEOUT_SECONDS), maxAnswerBytes: MAX_ANSWER_BYTES, staysOnServer: true },
    () => Promise.reject(new Error('conversion webhooks do not read files')),
    undefined,
  );
  return {
    async send(review) {
      const response = await withSpan('Call conversion webhook', undefined, () =>
        transport.post(review, TIMEOUT_SECONDS * 1000, NEVER_ABORTED),
      );
      const { status, body } = response;
      if (status >= 200 && status <= 206 && looksLikeJson(body) && body.includes(REVIEW)) return body;
      // What is no review is refused in Kubernetes' words. A review in YAML is taken.
      const version = REQUESTED_VERSION.exec(review)?.[1] ?? 'v1';
      return stringifyJson(answeredObject(response, { group: 'apiextensions.k8s.io', version, kind: REVIEW }));
    },
  };
}
