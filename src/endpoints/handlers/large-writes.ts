import type { RequestScope } from './scope.js';

/** Bodies and objects that are at least this large together (bytes) are worked on outside of the thread that answers everybody. */
const LARGE = 64 * 1024;
/** Reading YAML takes several times as long as reading JSON. */
const YAML_FACTOR = 4;
const OPENING_BRACE = 0x7b;
const COPY = Buffer.from('"copy"');

/** Hands a write over to another thread if it is large; undefined: it is not, or cannot be handed over. */
export function elsewhere(scope: RequestScope, body: Buffer): Promise<void> | undefined {
  const { largeWrites } = scope.environment;
  if (largeWrites === undefined) return undefined;
  const weight = weightOfAll(scope, body);
  if (weight < LARGE || !largeWrites.takes(scope, weight)) return undefined;
  return largeWrites.run(scope, body);
}

function weightOfAll(scope: RequestScope, body: Buffer): number {
  const { info } = scope.context;
  let bytes = weightOf(scope, body);
  if (bytes < LARGE && info.name !== '') {
    const key = scope.store.namespaced ? `${info.namespace}/${info.name}` : info.name;
    bytes += scope.store.cache.peek(key)?.bytes.length ?? 0;
  }
  return bytes;
}

function weightOf({ request }: RequestScope, body: Buffer): number {
  const type = request.headers['content-type'] ?? '';
  if (type.includes('yaml') && body[0] !== OPENING_BRACE) return body.length * YAML_FACTOR;
  // Copies of copies: a short patch makes an object as large as the limit allows.
  if (type.includes('json-patch') && body.includes(COPY)) return Infinity;
  return body.length;
}
