import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import {
  deepEqual,
  isObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from '../../../apimachinery/json/json.js';
import { parseYaml, toYaml } from '../../../apimachinery/yaml/yaml.js';

/** Returns the text of a YAML document whose value has changed; comments and order are kept where the changes allow it. */
export function rewriteYaml(text: string, old: JsonValue, value: JsonValue): string {
  const crlf = /\r\n/.test(text);
  const body = relabelled(text, old, value) ?? edited(text, old, value) ?? commentsBefore(text) + toYaml(value);
  const lines = body.endsWith('\n') ? body : `${body}\n`;
  const mark = text.startsWith('\ufeff') && !lines.startsWith('\ufeff') ? '\ufeff' : '';
  return mark + (crlf ? lines.replace(/\r?\n/g, '\r\n') : lines);
}

const commentsBefore = (text: string): string =>
  /^(?:[ \t]*(?:#.*)?\r?\n)*/.exec(text.replace(/^\ufeff/, ''))?.[0] ?? '';

/** Returns the text with another version if nothing else changes: every other byte stays. */
function relabelled(text: string, old: JsonValue, value: JsonValue): string | undefined {
  if (!isObject(old) || !isObject(value)) return undefined;
  const { apiVersion: before } = old;
  const { apiVersion: after } = value;
  if (typeof before !== 'string' || typeof after !== 'string') return undefined;
  if (!deepEqual({ ...old, apiVersion: after }, value)) return undefined;
  const at = /^(["']?apiVersion["']?[ \t]*:[ \t]*["']?)(?=[a-z])/m.exec(text);
  const start = at === null ? -1 : at.index + at[0].length;
  if (start < 0 || !text.startsWith(before, start)) return undefined;
  const result = text.slice(0, start) + after + text.slice(start + before.length);
  return deepEqual(parseYaml(result).value, value) ? result : undefined;
}

/** Edits the document; returns undefined if the result would not parse to the new value in kubectl. */
function edited(text: string, old: JsonValue, value: JsonValue): string | undefined {
  try {
    const document = parseDocument(text.replace(/^\ufeff/, ''), {
      version: '1.1',
      intAsBigInt: true,
      keepSourceTokens: false,
      uniqueKeys: false,
    });
    if (document.errors.length > 0 || document.contents === null) return undefined;
    if (!isObject(old) || !isObject(value) || !isMap(document.contents)) return undefined;
    editMap(document, document.contents, old, value);
    const result = document.toString({
      lineWidth: 0,
      indent: indentOf(text),
      indentSeq: indentsLists(text),
      flowCollectionPadding: !/[{[][^\s{}[\]]/.test(text),
    });
    return deepEqual(parseYaml(result).value, value) ? result : undefined;
  } catch {
    // An anchor whose place is gone, for example.
    return undefined;
  }
}

/** Returns the indentation of nested objects; the first one decides. */
function indentOf(text: string): number {
  const width = /^[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*( +)[^\s#-]/m.exec(text)?.[1]
    ?.length;
  return width ?? 2;
}

/** Reports whether lists are indented relative to their keys; the first one decides. */
function indentsLists(text: string): boolean {
  const match = /^( *)(?:- +)*[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)- /m.exec(text);
  return match === null ? false : (match[2] ?? '').length > (match[1] ?? '').length;
}

function nameOf(pair: Pair): string | undefined {
  const { key } = pair;
  if (!isScalar(key)) return undefined;
  return typeof key.value === 'string' ? key.value : String(key.value);
}

function editMap(document: Document, map: YAMLMap, old: JsonObject, value: JsonObject): void {
  map.items = map.items.filter((pair) => {
    const name = nameOf(pair);
    return name === undefined || name === '<<' || !(name in old) || value[name] !== undefined;
  });
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined || deepEqual(old[key], member)) continue;
    const pair = map.items.find((one) => nameOf(one) === key);
    if (pair === undefined) map.add(document.createPair(key, plain(member)));
    else pair.value = editNode(document, pair.value as Node | null, old[key], member);
  }
}

function editNode(document: Document, node: Node | null, old: JsonValue | undefined, value: JsonValue): Node {
  if (isMap(node) && isObject(old) && isObject(value)) {
    editMap(document, node, old, value);
    return node;
  }
  if (isSeq(node) && Array.isArray(old) && Array.isArray(value) && old.length === value.length) {
    value.forEach((item, i) => {
      if (!deepEqual(old[i], item)) node.items[i] = editNode(document, node.items[i] as Node | null, old[i], item);
    });
    return node;
  }
  const made = document.createNode(plain(value)) as Node;
  if (node === null || isAlias(node)) return made;
  if (node.comment != null) made.comment = node.comment;
  if (node.commentBefore != null) made.commentBefore = node.commentBefore;
  return made;
}

/** Copies a value without undefined members and without shared references, which would become anchors. */
function plain(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (member === undefined ? [] : [[key, plain(member)]])),
  );
}

const INDENT = /^\s*\{\r?\n([ \t]+)"/;

/** Returns the text of a JSON document in its original layout. */
export function rewriteJson(text: string, value: JsonValue): string {
  const lead = /^[\s\ufeff]*/.exec(text)?.[0] ?? '';
  const tail = /\s*$/.exec(text)?.[0] ?? '';
  const indent = INDENT.exec(text.replace(/^\ufeff/, ''))?.[1];
  const body = indent === undefined ? stringifyJson(value) : prettyJson(value, indent);
  return lead + (/\r\n/.test(text) ? body.replaceAll('\n', '\r\n') : body) + tail;
}

/** Formats like JSON.stringify, with integers of any size. */
export function prettyJson(value: JsonValue, indent: string, margin = ''): string {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return stringifyJson(value);
  const inner = margin + indent;
  const [open, close, parts] = Array.isArray(value)
    ? ['[', ']', value.map((item) => prettyJson(item, indent, inner))]
    : [
        '{',
        '}',
        Object.entries(value).flatMap(([key, member]) =>
          member === undefined ? [] : [`${JSON.stringify(key)}: ${prettyJson(member, indent, inner)}`],
        ),
      ];
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${margin}${close}`;
}
