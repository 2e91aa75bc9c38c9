import { asBuffer } from '../../util/bytes.js';
import { encodeCbor, cborListHead, cborListTail, selfDescribed } from '../../apimachinery/cbor/cbor.js';
import type { ProtobufCodec, TypeMeta } from '../../apimachinery/protobuf/protobuf.js';
import { type JsonObject, stringifyJson } from '../../apimachinery/json/json.js';
import { toYaml } from '../../apimachinery/yaml/yaml.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import { indentJson } from './indent.js';

/** The parts of a list around its items. */
export interface ListFrame extends TypeMeta {
  readonly metadata: JsonObject;
  readonly listKey: 'items' | 'rows';
  /** Other members of the list: columnDefinitions. */
  readonly more?: JsonObject | undefined;
  readonly count: number;
  /** The total size of the encoded items in bytes; used only by encoders that are `sized`. */
  readonly size: number;
  /** True to write null instead of an empty list, where kube-apiserver does. */
  readonly emptyIsNull?: boolean | undefined;
}

export interface Encoder {
  readonly id: string;
  readonly separator: string;
  /** True if `list` needs the size of all items in advance. */
  readonly sized: boolean;
  /** Encodes a whole response. `json` is the compact JSON text of `tree()`. */
  whole(json: Uint8Array, tree: () => JsonObject): Uint8Array;
  /** Encodes an item of a list whose items are of `type`. */
  item(json: Uint8Array, tree: () => JsonObject, type: TypeMeta): Uint8Array;
  list(frame: ListFrame): { readonly head: Uint8Array; readonly tail: Uint8Array };
}

const newline = Buffer.from('\n');
const textOf = (bytes: Uint8Array): string => asBuffer(bytes).toString();

/** Returns the members of a list other than its items, in the order in which they are printed. */
function frameMembers(frame: ListFrame): JsonObject {
  return { kind: frame.kind, apiVersion: frame.apiVersion, metadata: frame.metadata, ...frame.more };
}

const emptyText = (frame: ListFrame): string => (frame.emptyIsNull === true ? 'null' : '[]');

const jsonEncoder: Encoder = {
  id: 'json',
  separator: ',',
  sized: false,
  whole: (json) => Buffer.concat([json, newline]),
  item: (json) => json,
  list: (frame) => {
    const members = stringifyJson(frameMembers(frame)).slice(0, -1);
    if (frame.count === 0) {
      return { head: Buffer.from(`${members},"${frame.listKey}":${emptyText(frame)}`), tail: Buffer.from('}\n') };
    }
    return { head: Buffer.from(`${members},"${frame.listKey}":[`), tail: Buffer.from(']}\n') };
  },
};

const prettyEncoder: Encoder = {
  id: 'pretty',
  separator: ',\n    ',
  sized: false,
  whole: (json) => Buffer.from(indentJson(textOf(json))),
  item: (json) => Buffer.from(indentJson(textOf(json), 2)),
  list: (frame) => {
    const members = indentJson(stringifyJson(frameMembers(frame))).slice(0, -2);
    if (frame.count === 0) {
      return { head: Buffer.from(`${members},\n  "${frame.listKey}": ${emptyText(frame)}`), tail: Buffer.from('\n}') };
    }
    return { head: Buffer.from(`${members},\n  "${frame.listKey}": [\n    `), tail: Buffer.from('\n  ]\n}') };
  },
};

/** Encodes an object as an entry of an unindented YAML sequence. */
function yamlItem(tree: JsonObject): string {
  const text = toYaml(tree);
  if (text.startsWith('{}')) return `- ${text}`;
  return `- ${text.slice(0, -1).replace(/\n(?!\n|$)/g, '\n  ')}\n`;
}

const yamlEncoder: Encoder = {
  id: 'yaml',
  separator: '',
  sized: false,
  whole: (_json, tree) => Buffer.from(toYaml(tree())),
  item: (_json, tree) => Buffer.from(yamlItem(tree())),
  list: (frame) => {
    const members = frameMembers(frame);
    const before: JsonObject = {};
    const after: JsonObject = {};
    for (const key in members) (key < frame.listKey ? before : after)[key] = members[key];
    const empty = frame.count === 0 ? ` ${emptyText(frame)}` : '';
    const tail = Object.keys(after).length === 0 ? '' : toYaml(after);
    return { head: Buffer.from(`${toYaml(before)}${frame.listKey}:${empty}\n`), tail: Buffer.from(tail) };
  },
};

const protobufEncoders = new WeakMap<ProtobufCodec, Encoder>();

function protobufEncoder(codec: ProtobufCodec): Encoder {
  let encoder = protobufEncoders.get(codec);
  if (encoder === undefined) {
    encoder = {
      id: 'protobuf',
      separator: '',
      sized: true,
      whole: (_json, tree) => codec.encode(tree()),
      item: (_json, tree, type) => codec.encodeItem(type, tree()),
      list: (frame) => codec.encodeList(frame, frame.metadata, frame.size),
    };
    protobufEncoders.set(codec, encoder);
  }
  return encoder;
}

const cborEncoder: Encoder = {
  id: 'cbor',
  separator: '',
  sized: false,
  whole: (_json, tree) => selfDescribed(encodeCbor(tree())),
  item: (_json, tree) => encodeCbor(tree()),
  list: (frame) => ({
    head: cborListHead(frameMembers(frame), frame.listKey, frame.count),
    tail: cborListTail,
  }),
};

export type Format = Pick<NegotiatedMedia, 'encoding' | 'pretty'>;

/** All formats except Protobuf, whose codec must know the types. */
export type PlainFormat = Format & { readonly encoding: Exclude<Format['encoding'], 'protobuf'> };

function plainEncoder(media: PlainFormat): Encoder {
  switch (media.encoding) {
    case 'json':
      return media.pretty ? prettyEncoder : jsonEncoder;
    case 'yaml':
      return yamlEncoder;
    case 'cbor':
      return cborEncoder;
  }
}

const isPlain = (media: Format): media is PlainFormat => media.encoding !== 'protobuf';

export function encoderOf(media: Format, protobuf: ProtobufCodec): Encoder {
  return isPlain(media) ? plainEncoder(media) : protobufEncoder(protobuf);
}

const wholeTree = (encoder: Encoder, media: Format, tree: JsonObject): Uint8Array =>
  encoder.whole(media.encoding === 'json' ? Buffer.from(stringifyJson(tree)) : newline, () => tree);

/** Encodes a decoded object as a whole response. */
export const encodeTree = (media: Format, tree: JsonObject, protobuf: ProtobufCodec): Uint8Array =>
  wholeTree(encoderOf(media, protobuf), media, tree);

export const encodePlainTree = (media: PlainFormat, tree: JsonObject): Uint8Array =>
  wholeTree(plainEncoder(media), media, tree);
