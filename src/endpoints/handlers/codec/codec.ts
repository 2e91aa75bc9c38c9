import type { JsonObject, JsonValue } from '../../../apimachinery/json/json.js';
import type { ApiError } from '../../../apimachinery/meta/errors.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { ProtobufCodec } from '../../../apimachinery/protobuf/protobuf.js';
import type { ResourceType } from '../../../registry/rest/interfaces.js';
import type { DecodedObject, ServedVersion } from '../../../registry/rest/served.js';
import type { Encoding } from '../../negotiation/media.js';
import type { ResponseConventions } from '../../responsewriters/conventions.js';

/** What decoding must know of a type: a version of a stored type, or a type that is only created. */
export interface Decodable extends Pick<ServedVersion, 'gvk' | 'groupVersion' | 'decode'> {
  readonly type: Pick<ResourceType, 'noProtobuf'>;
}

export interface ReceivedBody {
  readonly bytes: Buffer;
  readonly format: Encoding;
  /** Looks for unknown and duplicate fields. */
  readonly strict: boolean;
  /** Protobuf of the built-in types. */
  readonly protobuf: ProtobufCodec;
}

/** How the objects of requests are read, and those of responses written: built-in types, custom resources and Scales differ. A router gives each scope its codec. */
export interface Codec {
  /** Whether a body of this format is looked through for unknown fields. */
  findsUnknownFields(format: Encoding): boolean;
  /** Reads a body as an object of the target's kind; throws ApiError. */
  decode(target: Decodable, body: ReceivedBody): DecodedObject;
  /** The 400 for an object with fields that it must not have. */
  refuseUnknownFields(target: Decodable, object: KubeObject, strictErrors: readonly string[]): ApiError;
  /** How responses are written. */
  readonly responses: ResponseConventions;
  /** How objects are read that a patch has made. */
  readonly patched: PatchedCodec;
}

/** A tree that a patch made, as far as it goes. */
export interface PatchedTree {
  readonly value: JsonValue;
  /** A strategic merge has made it: it has been looked at already. */
  readonly merged: boolean;
  /** As errors show it. */
  readonly shown: () => string;
  /** The refusal of the patch. */
  readonly refuse: (why: string) => ApiError;
}

/** What is to be decoded of such a tree. */
export interface IdentifiedTree {
  readonly tree: JsonObject;
  /** Fields that it has too much. */
  readonly unknown: readonly string[];
  /** It has no apiVersion: nobody can tell who owns its fields. */
  readonly versionless: boolean;
}

export interface PatchedCodec {
  /** Checks kind and version; throws the refusal of the patch. */
  identify(target: Decodable, patched: PatchedTree): IdentifiedTree;
  /** A second value of a field adds to the first. */
  readonly merges: boolean;
  /** Whether errors show the object with all its keys sorted, and unknown fields in the order in which they are found. */
  readonly sorted: boolean;
  /** Gives a tree the type that it is read as. */
  stamp(target: Decodable, tree: JsonObject): void;
  /** Looks at what came of it. */
  check(object: KubeObject): void;
}
