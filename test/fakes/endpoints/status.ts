import { send, type StatusWriter } from '../../../src/endpoints/filters/status.js';

/** Writes the Status as JSON, regardless of the Accept header. */
export const writeJsonStatus: StatusWriter = (exchange, error) => {
  send(exchange.response, error.code, 'application/json', JSON.stringify(error.status));
};
