import type { HandlerEnvironment } from '../endpoints/handlers/scope.js';
import type { StatusWriter } from '../endpoints/filters/status.js';
import { writeStatus } from '../endpoints/responsewriters/status.js';
import { messageOf } from '../util/error-message.js';
import type { Logger } from '../util/logger.js';

/** Errors of the chain, in the form that the client asked for. */
export function statusWriter(environment: HandlerEnvironment, logger: Logger): StatusWriter {
  const { features, protobuf } = environment;
  const options = {
    compression: features.enabled('APIResponseCompression'),
    cbor: features.enabled('CBORServingAndStorage'),
    protobuf,
  };
  return (exchange, error) => {
    writeStatus(exchange, exchange.request, exchange.response, error, options).catch((failure: unknown) => {
      logger.error('an error cannot be told', { auditID: exchange.auditId, error: messageOf(failure) });
      exchange.destroy();
    });
  };
}
