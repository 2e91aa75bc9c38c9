import type { INamespace } from 'protobufjs';
import { readDataFile } from '../scheme/data-files.js';
import { readTypes } from '../scheme/types.js';
import { ProtobufCodec } from './protobuf.js';

/** Creates the codec of the built-in types from the data folder. */
export function loadProtobufCodec(): ProtobufCodec {
  // The file ships with the program and has this shape.
  const descriptors: unknown = readDataFile('protobuf.json');
  return new ProtobufCodec(descriptors as INamespace, readTypes());
}
