import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../util/error-message.js';
import { type Piece, readPieces } from './documents.js';

export interface Input {
  /** As messages name it. */
  readonly name: string;
  /** Undefined: standard input. */
  readonly path: string | undefined;
  readonly pieces: readonly Piece[];
}

const MANIFEST = /\.(json|ya?ml)$/i;

/** The files that paths stand for, in their order, each once: of folders those that kubectl takes. `fail` takes what is wrong with a path. */
export function filesOf(paths: readonly string[], recursive: boolean, fail: (line: string) => void): readonly string[] {
  const found = new Set<string>();
  const add = (path: string): void => {
    if (path === '-' || !statSync(path).isDirectory()) found.add(path);
    else for (const file of filesIn(path, recursive)) found.add(file);
  };
  for (const path of paths) {
    try {
      add(path);
    } catch (error) {
      fail(`${path}: ${messageOf(error)}`);
    }
  }
  return [...found];
}

function filesIn(folder: string, recursive: boolean): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
      // What links lead to is not followed: it may lead back.
      return recursive && entry.isDirectory() ? filesIn(path, recursive) : [];
    }
    return MANIFEST.test(entry.name) ? [path] : [];
  });
}

/** Reads a file, or standard input by `-`. Throws an Error with one line of text. */
export function readInput(path: string, readStandardInput: () => Buffer): Input {
  const isStandardInput = path === '-';
  const name = isStandardInput ? 'standard input' : path;
  let bytes: Buffer;
  try {
    bytes = isStandardInput ? readStandardInput() : readFileSync(path);
  } catch (error) {
    throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
  }
  try {
    return { name, path: isStandardInput ? undefined : path, pieces: readPieces(bytes) };
  } catch (error) {
    throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
  }
}
