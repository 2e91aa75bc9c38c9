import type { ProtobufCodec, TypeMeta } from '../../apimachinery/protobuf/protobuf.js';
import { type JsonObject, type JsonValue, objectAt, stringifyJson } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import type { CachedObject, Representation } from '../../storage/cacher/interfaces.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import { type Encoder, encoderOf, type Format } from './encoders.js';
import { metadataBytes } from './metadata.js';

/** The part of an object that a response shows: all of it, or its metadata. Shapes are JSON; encoders produce the other encodings. */
export interface Shape {
  readonly id: string;
  readonly type: TypeMeta;
  readonly listType: TypeMeta;
  /** For a whole response and for watch events. */
  readonly whole: Representation;
  readonly item: Representation;
  tree(object: CachedObject): JsonObject;
  itemTree(object: CachedObject): JsonObject;
  /** Like `tree`, for an object that is not in the cache. */
  ofObject(object: KubeObject): JsonObject;
  readonly emptyIsNull: boolean;
}

export const metaGroupVersion = (version: 'v1' | 'v1beta1'): string => `meta.k8s.io/${version}`;

export const partialHead = (version: 'v1' | 'v1beta1'): Buffer =>
  Buffer.from(`{"kind":"PartialObjectMetadata","apiVersion":"${metaGroupVersion(version)}","metadata":`);
const closing = Buffer.from('}');

function objectShape(view: VersionView): Shape {
  const { kind, listKind } = view.type;
  return {
    id: view.id,
    type: { apiVersion: view.groupVersion, kind },
    listType: { apiVersion: view.groupVersion, kind: listKind },
    whole: view.json,
    item: view.listItem,
    tree: (object) => view.toObject(object),
    itemTree: (object) => view.itemTree(object),
    ofObject: (object) => object,
    emptyIsNull: false,
  };
}

/** Builds the PartialObjectMetadata of an object. */
export const partialTree = (object: KubeObject, version: 'v1' | 'v1beta1'): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: metaGroupVersion(version),
  metadata: objectAt(object, 'metadata') ?? {},
});

function partialShape(view: VersionView, version: 'v1' | 'v1beta1'): Shape {
  const apiVersion = metaGroupVersion(version);
  const head = partialHead(version);
  const partial: Representation = {
    id: `${view.id}/partial-${version}`,
    separator: ',',
    render: (object) => Buffer.concat([head, metadataBytes(view, object), closing]),
  };
  const ofObject = (object: KubeObject): JsonObject => partialTree(object, version);
  const tree = (object: CachedObject): JsonObject => ofObject(view.toObject(object));
  return {
    id: partial.id,
    type: { apiVersion, kind: 'PartialObjectMetadata' },
    listType: { apiVersion, kind: 'PartialObjectMetadataList' },
    whole: partial,
    item: partial,
    tree,
    itemTree: tree,
    ofObject,
    emptyIsNull: true,
  };
}

const shapes = new WeakMap<VersionView, Map<string, Shape>>();

/** Returns the shape for the negotiated media type. Tables are built in table.ts. */
export function shapeOf(view: VersionView, media: Pick<NegotiatedMedia, 'as' | 'asVersion'>): Shape {
  const version = media.as === undefined ? undefined : (media.asVersion ?? 'v1');
  const key = version ?? '';
  const known = memo(shapes, view);
  let shape = known.get(key);
  if (shape === undefined) {
    shape = version === undefined ? objectShape(view) : partialShape(view, version);
    known.set(key, shape);
  }
  return shape;
}

const encoded = new WeakMap<Shape, Map<string, Representation>>();

/** Returns a shape in an encoding. Every call returns the same representation, so that its cached bytes are found again. */
export function representationOf(
  shape: Shape,
  media: Format,
  use: 'whole' | 'item',
  protobuf: ProtobufCodec,
): Representation {
  const encoder = encoderOf(media, protobuf);
  if (use === 'item' && encoder.id === 'json') return shape.item;
  const known = memo(encoded, shape);
  const key = `${use}/${encoder.id}`;
  let representation = known.get(key);
  if (representation === undefined) {
    representation = encodedShape(shape, encoder, use);
    known.set(key, representation);
  }
  return representation;
}

const nothing = new Uint8Array(0);

function encodedShape(shape: Shape, encoder: Encoder, use: 'whole' | 'item'): Representation {
  const source = use === 'whole' ? shape.whole : shape.item;
  const fromText = encoder.id === 'json' || encoder.id === 'pretty';
  return {
    id: `${source.id}/${encoder.id}/${use}`,
    separator: encoder.separator,
    render: (object) => {
      const json = fromText ? object.render(source) : nothing;
      return use === 'whole'
        ? encoder.whole(json, () => shape.tree(object))
        : encoder.item(json, () => shape.itemTree(object), shape.type);
    },
  };
}

/** Encodes any tree as JSON text, in bytes. */
export const jsonBytes = (value: JsonValue): Buffer => Buffer.from(stringifyJson(value));

export function memo<K extends object, V>(cache: WeakMap<K, Map<string, V>>, key: K): Map<string, V> {
  let known = cache.get(key);
  if (known === undefined) {
    known = new Map();
    cache.set(key, known);
  }
  return known;
}
