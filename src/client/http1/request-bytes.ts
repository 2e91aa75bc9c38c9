import { type OutgoingHttpHeaders, validateHeaderName, validateHeaderValue } from 'node:http';

export interface RequestHead {
  readonly method: string;
  readonly path: string;
  /** The Host header, unless `headers` has one. */
  readonly host: string;
  readonly headers: OutgoingHttpHeaders;
  /** User and password, unless `headers` has an Authorization header. */
  readonly auth?: string;
}

/** Encodes a request for the wire. Throws if a header is invalid. */
export function requestBytes({ method, path, host, headers, auth }: RequestHead, body: Buffer): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`];
  const add = (name: string, value: string): void => {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    lines.push(`${name}: ${value}`);
  };
  if (headers['host'] === undefined) add('host', host);
  if (auth !== undefined && headers['authorization'] === undefined) {
    add('authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
  }
  for (const [name, value] of Object.entries(headers)) {
    if (Array.isArray(value)) for (const one of value) add(name, one);
    else if (value !== undefined) add(name, String(value));
  }
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
