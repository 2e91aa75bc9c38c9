import type { ApiError } from '../../../apimachinery/meta/errors.js';
import type { HandlerEnvironment } from '../../../endpoints/handlers/scope.js';
import type { StatusWriter } from '../../../endpoints/filters/status.js';
import { writeStatus } from '../../../endpoints/responsewriters/status.js';
import { messageOf } from '../../../util/error-message.js';
import type { Logger } from '../../../util/logger.js';

/** Returns a function that writes errors of the handler chain in the negotiated media type. */
export function statusWriter(
  environment: Pick<HandlerEnvironment, 'features' | 'protobuf'>,
  logger: Logger,
): StatusWriter {
  const { features, protobuf } = environment;
  const compression = features.enabled('APIResponseCompression');
  const cbor = features.enabled('CBORServingAndStorage');
  return (exchange, error) => {
    const options = { compression, cbor: cbor && exchange.handled && !isOfRouter(error), protobuf };
    writeStatus({ context: exchange, request: exchange.request, response: exchange.response }, error, options).catch(
      (failure: unknown) => {
        logger.error('cannot write an error response', { auditID: exchange.auditId, error: messageOf(failure) });
        exchange.destroy();
      },
    );
  };
}

/** Reports whether an error is from a filter or router; these never encode errors in CBOR. */
const isOfRouter = ({ code, details }: ApiError): boolean =>
  code === 405 || (details !== undefined && Object.keys(details).length === 0);
