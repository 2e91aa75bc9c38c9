import type { FuzzAnswer } from './client.js';

const HEADERS = ['content-type', 'warning', 'cache-control', 'retry-after', 'location', 'allow', 'vary'];

const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>'],
  [/\b202[5-9]-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/("resourceVersion\\*": ?\\*")\d+/g, '$1<rv>'],
  [/(resourceVersion: ")\d+/g, '$1<rv>'],
  [/(\\*"continue\\*": ?\\*")[^"\\]+/g, '$1<continue>'],
  [/(continue: )\S+/g, '$1<continue>'],
  [/(too old resource version: )\d+ \(\d+\)/g, '$1<n> (<n>)'],
  [/(Too large resource version: \d+, current: )\d+/g, '$1<n>'],
  [/(ResourceVersion in (?:the precondition|record)[^(]*\()\d+/g, '$1<n>'],
  [/(invalid resource version: )\d+/g, '$1<n>'],
  // Ages in tables as YAML.
  [/^( *- )\d+[smh](?:\d+s)?$/gm, '$1<age>'],
  [/(record\s+\()\d+/g, '$1<n>'],
];

/**
 * Returns a response without what differs between servers: identities, times, versions. With `unordered`, the order in which
 * kube-apiserver's walk over several properties finds errors is ignored, too.
 */
export function normalise(answer: FuzzAnswer, namespace: string, unordered = false): string {
  const lines = [`${String(answer.status)}${answer.cut ? ' (cut)' : ''}`];
  for (const name of HEADERS) {
    const value = answer.headers[name];
    if (value !== undefined) lines.push(`${name}: ${unordered ? sortedParts(String(value)) : String(value)}`);
  }
  return `${lines.join('\n')}\n\n${bodyText(answer, unordered)}`.replaceAll(namespace, '<ns>');
}

const sortedParts = (text: string): string => text.split(', ').sort().join(', ');

function bodyText(answer: FuzzAnswer, unordered: boolean): string {
  const type = String(answer.headers['content-type']);
  if (/protobuf|cbor/.test(type))
    return answer.status < 400 ? '<binary>' : answer.body.toString('latin1').replace(/[\d-]{20,}/g, '');
  let text = answer.body.toString('utf8');
  if (type.startsWith('application/json'))
    text = (text.startsWith('{\n') ? [text] : text.split('\n'))
      .map((line) => jsonLine(line, unordered))
      .filter((line) => line !== '')
      .join('\n');
  for (const [pattern, by] of REPLACED) text = text.replace(pattern, by);
  return text;
}

/** Normalizes ages in tables, bookmarks, and the order of managedFields, which depend on time. */
function jsonLine(line: string, unordered: boolean): string {
  if (!line.startsWith('{')) return line;
  try {
    const value = JSON.parse(line) as Record<string, unknown>;
    const object = value['object'] as { metadata?: { annotations?: unknown } } | undefined;
    if (value['type'] === 'BOOKMARK' && object?.metadata?.annotations === undefined) return '';
    const indented = line.startsWith('{\n') ? 2 : 0;
    return JSON.stringify(
      value,
      (key, one: unknown) => {
        if (key === 'managedFields' && Array.isArray(one))
          return (one as unknown[]).map((entry) => JSON.stringify(sorted(entry))).sort();
        if (key === 'cells' && Array.isArray(one))
          return (one as unknown[]).map((cell) =>
            typeof cell === 'string' && /^\d+[smhdy]/.test(cell) ? '<age>' : cell,
          );
        // The order of several conflicts is that of a Go map.
        if (key === 'causes' && Array.isArray(one) && (value['code'] === 409 || unordered))
          return (one as unknown[]).map((cause) => JSON.stringify(sorted(cause))).sort();
        if (key === 'message' && typeof one === 'string') {
          if (unordered && value['code'] === 422) return one.replace(/[[\]]/g, '').split(/: |, /).sort().join('; ');
          return fixedOrder(one);
        }
        return sorted(one);
      },
      indented,
    );
  } catch {
    return line;
  }
}

/** Sorts or omits the parts of a message whose order depends on a Go map. */
function fixedOrder(message: string): string {
  // The walk ends at the first unknown field, in any order.
  if (
    /^failed to (create typed (patch|live) object|create manager for existing fields|convert new object)/.test(message)
  ) {
    const [head = '', ...lines] = message.split('\n');
    return message.includes('field not declared in schema')
      ? head.replace(/: \..*|: errors:$/s, '')
      : [head, ...lines.sort()].join('\n');
  }
  if (message.startsWith('Apply failed with'))
    return message
      .split(/\n| conflicts?: /)
      .sort()
      .join('\n');
  return message;
}

/** Sorts the keys of maps, whose order does not matter to clients. */
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, one]) => [key, sorted(one)]),
      )
    : value;
