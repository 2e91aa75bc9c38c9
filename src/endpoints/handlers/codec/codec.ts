import type { JsonObject, JsonValue } from '../../../apimachinery/json/json.js';
import type { ApiError } from '../../../apimachinery/meta/errors.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { ProtobufCodec } from '../../../apimachinery/protobuf/protobuf.js';
import type { ResourceType } from '../../../registry/rest/interfaces.js';
import type { DecodedObject, ServedVersion } from '../../../registry/rest/served.js';
import type { Encoding } from '../../negotiation/media.js';
import type { ResponseConventions } from '../../responsewriters/conventions.js';

/** What to do with fields that a type does not have. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** The parts of a type that decoding needs: a version of a stored type, or a create-only type. */
export interface Decodable extends Pick<ServedVersion, 'gvk' | 'groupVersion' | 'decode'> {
  readonly type: Pick<ResourceType, 'noProtobuf'>;
}

export interface ReceivedBody {
  readonly bytes: Buffer;
  readonly format: Encoding;
  /** True to look for unknown and duplicate fields. */
  readonly strict: boolean;
  /** The Protobuf codec of the built-in types. */
  readonly protobuf: ProtobufCodec;
}

/**
 * Decodes the objects of requests and defines how responses are written. Built-in types, custom resources and Scales differ. A
 * router gives each scope its codec.
 */
export interface Codec {
  /** Reports whether bodies of this format are checked for unknown fields. */
  findsUnknownFields(format: Encoding): boolean;
  /** Decodes a body as an object of the target's kind. Throws ApiError. */
  decode(target: Decodable, body: ReceivedBody): DecodedObject;
  /** Returns the 400 for an object with fields that it must not have. */
  newStrictDecodingError(target: Decodable, object: KubeObject, strictErrors: readonly string[]): ApiError;
  /** The conventions of responses. */
  readonly responses: ResponseConventions;
  /** The codec of patched objects. */
  readonly patched: PatchedCodec;
}

/** The result of a patch before it is decoded. */
export interface PatchedTree {
  readonly value: JsonValue;
  /** True for the result of a strategic merge, whose type is not checked again. */
  readonly merged: boolean;
  /** Returns the text that errors show. */
  readonly shown: () => string;
  /** Builds the error that rejects the patch. */
  readonly refuse: (why: string) => ApiError;
}

/** The part of a patched tree that is decoded. */
export interface IdentifiedTree {
  readonly tree: JsonObject;
  /** Strict errors for its unknown fields. */
  readonly unknown: readonly string[];
  /** True if it has no apiVersion, so the ownership of its fields cannot be determined. */
  readonly versionless: boolean;
}

export interface PatchedCodec {
  /** Checks kind and version. Throws the error that rejects the patch. */
  identify(target: Decodable, patched: PatchedTree): IdentifiedTree;
  /** True if a duplicate field is merged into the first value. */
  readonly merges: boolean;
  /** True if errors show the object with all its keys sorted, and unknown fields in the order in which they are found. */
  readonly sorted: boolean;
  /** Sets the type that the tree is decoded as. */
  stamp(target: Decodable, tree: JsonObject): void;
  /** Checks the decoded object. */
  check(object: KubeObject): void;
}
