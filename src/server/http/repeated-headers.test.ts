import type { IncomingHttpHeaders } from 'node:http';
import { keepFirstHeaders } from './repeated-headers.js';

function kept(headers: IncomingHttpHeaders, rawHeaders: string[]): IncomingHttpHeaders {
  keepFirstHeaders({ headers, rawHeaders });
  return headers;
}

test.each<[string, IncomingHttpHeaders, string[], IncomingHttpHeaders]>([
  ['one', { accept: 'a/b, c/d' }, ['Accept', 'a/b, c/d'], { accept: 'a/b, c/d' }],
  ['two', { accept: 'a/b, c/d' }, ['Host', 'x', 'ACCEPT', 'a/b', 'accept', 'c/d'], { accept: 'a/b' }],
  ['an empty one first', { accept: ', c/d' }, ['Accept', '', 'Accept', 'c/d'], { accept: '' }],
  ['others', { 'x-a': '1, 2' }, ['X-A', '1', 'X-A', '2'], { 'x-a': '1, 2' }],
])('%s', (_name, headers, rawHeaders, expected) => {
  expect(kept(headers, rawHeaders)).toEqual(expected);
});
