import type { INamespace } from 'protobufjs';
import { readDataFile } from '../scheme/data-files.js';
import type { GoTypes } from './go-types.js';
import { ProtobufCodec } from './protobuf.js';

/** The codec of the built-in types, made from the data folder. */
export function loadProtobufCodec(): ProtobufCodec {
  // Data files ship with the program and are of these shapes.
  const descriptors: unknown = readDataFile('protobuf.json');
  const types: unknown = readDataFile('types', 'types.json');
  return new ProtobufCodec(descriptors as INamespace, types as GoTypes);
}
