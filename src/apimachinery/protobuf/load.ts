import type { INamespace } from 'protobufjs';
import { readDataFile } from '../scheme/data-files.js';
import type { GoTypes } from './go-types.js';
import { ProtobufCodec } from './protobuf.js';

/** Creates the codec of the built-in types from the data folder. */
export function loadProtobufCodec(): ProtobufCodec {
  // Data files ship with the program and have these shapes.
  const descriptors: unknown = readDataFile('protobuf.json');
  const types: unknown = readDataFile('types', 'types.json');
  return new ProtobufCodec(descriptors as INamespace, types as GoTypes);
}
