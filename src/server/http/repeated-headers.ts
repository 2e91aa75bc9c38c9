import type { HttpRequest } from '../../endpoints/http.js';

/** List headers that Node joins if they are repeated, and of which Go's handlers read only the first. */
const LISTS = ['accept', 'accept-encoding', 'audit-id', 'if-none-match'] as const;

/** Keeps only the first of the headers that kube-apiserver reads once. */
export function keepFirstHeaders({ headers, rawHeaders }: Pick<HttpRequest, 'headers' | 'rawHeaders'>): void {
  for (const name of LISTS) {
    const value = headers[name];
    if (value === undefined || !value.includes(',')) continue;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      if (rawHeaders[i]?.toLowerCase() !== name) continue;
      headers[name] = rawHeaders[i + 1];
      break;
    }
  }
}
