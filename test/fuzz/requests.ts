import fc from 'fast-check';
import type { FuzzRequest } from './client.js';
import type { Kind } from './fixtures.js';
import {
  GET,
  LIST,
  WATCH,
  accept,
  collection,
  everywhere,
  headersOf,
  mostly,
  objectPath,
  oddPath,
  pick,
  query,
  subPath,
} from './parts.js';

/** Requests that change nothing. */
export function reads(kinds: readonly Kind[]): fc.Arbitrary<FuzzRequest> {
  const kind = pick(kinds);
  const path = kind.chain((one) =>
    fc.oneof(
      { weight: 8, arbitrary: fc.tuple(pick([collection(one), collection(one), everywhere(one)]), query(LIST, 4)) },
      { weight: 4, arbitrary: fc.tuple(objectPath(one), query(GET)) },
      { weight: 1, arbitrary: fc.tuple(subPath(one), query(GET)) },
      { weight: 2, arbitrary: fc.tuple(oddPath(one), query(LIST, 2)) },
    ),
  );
  const method = mostly('GET', pick(['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']), 25);
  return fc
    .tuple(path, method, accept)
    .map(([[at, asked], verb, media]) => ({ method: verb, path: at + asked, headers: headersOf(media) }));
}

/** Watches that end within a second or are cut by the client. */
export function watches(kinds: readonly Kind[]): fc.Arbitrary<FuzzRequest> {
  const path = pick(kinds).chain((one) =>
    fc.oneof(
      { weight: 6, arbitrary: pick([collection(one), everywhere(one)]).map((at) => `${at}?watch=1&`) },
      { weight: 2, arbitrary: objectPath(one).map((at) => `${at}?watch=true&`) },
      {
        weight: 2,
        arbitrary: pick([
          `${one.root}/watch/${one.plural}?`,
          `${one.root}/watch${collection(one).slice(one.root.length)}?`,
          `${one.root}/watch${collection(one).slice(one.root.length)}/w1?`,
        ]),
      },
    ),
  );
  const duration = mostly('timeoutSeconds=1', fc.constant(''), 12);
  return fc.tuple(path, query(WATCH, 4), duration, accept).map(([at, asked, seconds, media]) => ({
    method: 'GET',
    path: at + [seconds, asked.slice(1)].filter((part) => part !== '').join('&'),
    headers: headersOf(media),
  }));
}
