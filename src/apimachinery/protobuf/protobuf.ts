import protobuf from 'protobufjs';
import { type JsonObject, textAt } from '../json/json.js';
import { formatGroupVersion, parseGroupVersion } from '../meta/meta.js';
import { type RawTypes, readTypes } from '../scheme/types.js';
import { decodeMessage, encodeInto } from './messages.js';
import { type Plan, Planner } from './plan.js';
import { ProtobufError, ReverseWriter, varintSize, wireBytes, WireReader, wrongWireType } from './wire.js';
import { readDataFile } from '../scheme/data-files.js';

/** The type of an object. */
export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** An error in the bytes of an object whose type is already known. */
export class ContentError extends ProtobufError {
  constructor(
    message: string,
    readonly type: TypeMeta,
  ) {
    super(message);
  }
}

const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
/** contentEncoding and contentType, both empty. */
const envelopeTail = Buffer.from([0x1a, 0x00, 0x22, 0x00]);

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1';

/** The packages of groups whose messages are not in `k8s.io.api.<first label>`. */
const packages: Readonly<Record<string, string>> = {
  '': 'k8s.io.api.core',
  'meta.k8s.io': 'k8s.io.apimachinery.pkg.apis.meta',
  'apiextensions.k8s.io': 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions',
};

/** Kinds that exist in every group version, with the messages of meta/v1. */
const metaKinds: ReadonlySet<string> = new Set([
  'Status',
  'DeleteOptions',
  'CreateOptions',
  'UpdateOptions',
  'PatchOptions',
  'GetOptions',
  'ListOptions',
  'APIGroup',
  'APIGroupList',
  'APIResourceList',
  'APIVersions',
  'PartialObjectMetadata',
  'PartialObjectMetadataList',
]);

/**
 * Converts JSON trees of the built-in types to and from the Protobuf envelope that kube-apiserver uses. It is built from the
 * message descriptors (`data/protobuf.json`) and the Go types (`data/types/types.json`), which specify what is a pointer.
 */
export class ProtobufCodec {
  private readonly planner: Planner;
  private readonly plans = new Map<string, Plan | undefined>();

  constructor(
    descriptors: protobuf.INamespace,
    private readonly go: RawTypes,
  ) {
    const root = protobuf.Root.fromJSON(descriptors);
    root.resolveAll();
    this.planner = new Planner(root, go);
  }

  /** Reports whether objects of the type can be encoded. */
  knows(type: TypeMeta): boolean {
    return this.find(type) !== undefined;
  }

  private find(type: TypeMeta): Plan | undefined {
    const key = `${type.apiVersion}/${type.kind}`;
    if (this.plans.has(key)) return this.plans.get(key);
    const plan = this.make(type, key);
    if (this.plans.size < maxPlans) this.plans.set(key, plan);
    return plan;
  }

  private make(type: TypeMeta, key: string): Plan | undefined {
    const gv = parseGroupVersion(type.apiVersion);
    if (gv === undefined) return undefined;
    const home = packages[gv.group] ?? `k8s.io.api.${gv.group.split('.', 1)[0] ?? ''}`;
    const { kinds } = this.go;
    const own = this.planner.message(`${home}.${gv.version}.${type.kind}`);
    const message = own ?? (metaKinds.has(type.kind) ? this.planner.message(`${meta}.${type.kind}`) : undefined);
    if (message === undefined) return undefined;
    // v1beta1 of meta.k8s.io also has the types of its v1.
    const index =
      own === undefined
        ? kinds[`meta.k8s.io/v1/${type.kind}`]
        : (kinds[key] ?? kinds[`v1/${type.kind}`] ?? kinds[`${gv.group}/v1/${type.kind}`]);
    return this.planner.plan(message, index === undefined ? undefined : this.go.types[index]);
  }

  private planOf(type: TypeMeta): Plan {
    const plan = this.find(type);
    if (plan === undefined) throw new ProtobufError(`no Protobuf message for ${type.apiVersion}, Kind=${type.kind}`);
    return plan;
  }

  /** Encodes an object with apiVersion and kind, in its envelope. */
  encode(object: JsonObject): Uint8Array {
    const type = { apiVersion: textAt(object, 'apiVersion'), kind: textAt(object, 'kind') };
    const writer = new ReverseWriter();
    encodeInto(writer, this.planOf(type), object);
    return Buffer.concat([envelopeHead(type, writer.length), writer.finish(), envelopeTail]);
  }

  /** Encodes an object of a type as an entry of a list's `items`, without an envelope. */
  encodeItem(type: TypeMeta, object: JsonObject): Uint8Array {
    const writer = new ReverseWriter();
    encodeInto(writer, this.planOf(type), object);
    writer.head(itemsId, 0);
    return writer.finish();
  }

  /** Encodes what precedes and follows the items of a list. `size` is the number of bytes of all items. */
  encodeList(
    type: TypeMeta,
    metadata: JsonObject,
    size: number,
  ): { readonly head: Uint8Array; readonly tail: Uint8Array } {
    const writer = new ReverseWriter(256);
    encodeInto(writer, this.listMeta(), metadata);
    writer.head(1, 0);
    const before = writer.finish();
    return { head: Buffer.concat([envelopeHead(type, before.length + size), before]), tail: envelopeTail };
  }

  private listMeta(): Plan {
    const message = this.planner.message(`${meta}.ListMeta`);
    if (message === undefined) throw new ProtobufError('ListMeta is not described');
    return this.planner.plan(message, undefined);
  }

  /**
   * Decodes an envelope. `fallback` is the type of an object without a type, or with an invalid version. An object of another
   * type that is not described here is returned with nothing but its type. Throws ProtobufError if the bytes are malformed,
   * ContentError if the malformed bytes are the object's own.
   */
  decode(bytes: Uint8Array, fallback?: TypeMeta): JsonObject {
    const unknown = readEnvelope(bytes);
    const gv = parseGroupVersion(unknown.apiVersion) ?? { group: '', version: '' };
    const apiVersion = gv.version === '' ? (fallback?.apiVersion ?? '') : formatGroupVersion(gv);
    const kind = unknown.kind === '' ? (fallback?.kind ?? '') : unknown.kind;
    const type = { apiVersion, kind };
    const other = fallback !== undefined && (fallback.kind !== kind || fallback.apiVersion !== apiVersion);
    if (other && !this.knows(type)) return type;
    const plan = this.planOf(type);
    try {
      return { apiVersion, kind, ...decodeMessage(plan, unknown.raw, 0) };
    } catch (error) {
      if (error instanceof ProtobufError) throw new ContentError(error.message, type);
      throw error;
    }
  }
}

const maxPlans = 1024;
const itemsId = 2;

function envelopeHead(type: TypeMeta, size: number): Uint8Array {
  const writer = new ReverseWriter(128);
  writer.varint(size);
  writer.tag(2, wireBytes);
  const before = writer.length;
  writer.textField(2, type.kind);
  writer.textField(1, type.apiVersion);
  writer.head(1, before);
  writer.bytes(magic);
  return writer.finish();
}

interface Envelope extends TypeMeta {
  readonly raw: Uint8Array;
  readonly contentType: string;
}

/** Splits an envelope into its parts. */
export function readEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length < magic.length || !magic.every((byte, index) => bytes[index] === byte)) {
    throw new ProtobufError(
      bytes.length === 0
        ? 'empty data'
        : 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  }
  if (bytes.length === magic.length) throw new ProtobufError('empty body');
  const reader = new WireReader(bytes.subarray(magic.length));
  let raw: Uint8Array = new Uint8Array(0);
  let type: TypeMeta = { apiVersion: '', kind: '' };
  let contentType = '';
  while (!reader.done) {
    const id = reader.field('Unknown');
    expectBytes(reader, ENVELOPE_FIELDS[id - 1]);
    if (id === 1) type = readType(reader.bytes(), type);
    else if (id === 2) raw = reader.bytes();
    else if (id === 4) contentType = reader.text();
    else reader.skip(reader.wireType);
  }
  return { ...type, raw, contentType };
}

const ENVELOPE_FIELDS = ['TypeMeta', 'Raw', 'ContentEncoding', 'ContentType'] as const;
const TYPE_FIELDS = ['APIVersion', 'Kind'] as const;

/** Checks the wire type of a field. Unknown fields have no name, and may have any wire type. */
function expectBytes(reader: WireReader, goName: string | undefined): void {
  if (goName !== undefined && reader.wireType !== wireBytes) throw wrongWireType(reader.wireType, goName);
}

/** Reads a part of the type, which adds to the previous part. */
function readType(bytes: Uint8Array, before: TypeMeta): TypeMeta {
  const reader = new WireReader(bytes);
  let { apiVersion, kind } = before;
  while (!reader.done) {
    const id = reader.field('TypeMeta');
    expectBytes(reader, TYPE_FIELDS[id - 1]);
    if (id === 1) apiVersion = reader.text();
    else if (id === 2) kind = reader.text();
    else reader.skip(reader.wireType);
  }
  return { apiVersion, kind };
}

/** Encodes a watch event, preceded by its length. `object` is an envelope. */
export function encodeWatchEvent(type: string, object: Uint8Array): Uint8Array {
  const writer = new ReverseWriter(64);
  const rawSize = 1 + varintSize(object.length) + object.length;
  writer.varint(object.length);
  writer.tag(1, wireBytes);
  writer.varint(rawSize);
  writer.tag(2, wireBytes);
  writer.textField(1, type);
  const head = writer.finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length + object.length);
  return Buffer.concat([length, head, object]);
}

/** Creates the codec of the built-in types from the data folder. */
export function loadProtobufCodec(): ProtobufCodec {
  // The file ships with the program and has this shape.
  const descriptors: unknown = readDataFile('protobuf.json');
  return new ProtobufCodec(descriptors as protobuf.INamespace, readTypes());
}
