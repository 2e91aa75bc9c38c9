import { send, type StatusWriter } from './status.js';

/** Writes the Status as JSON, whatever the client asked for. */
export const writeJsonStatus: StatusWriter = (exchange, error) => {
  send(exchange.response, error.code, 'application/json', JSON.stringify(error.status));
};
