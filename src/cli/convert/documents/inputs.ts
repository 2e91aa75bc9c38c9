import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../util/error-message.js';
import { type Piece, readPieces } from './documents.js';

export interface Input {
  /** The name used in messages. */
  readonly name: string;
  /** Undefined for standard input. */
  readonly path: string | undefined;
  readonly pieces: readonly Piece[];
}

const MANIFEST = /\.(json|ya?ml)$/i;

/**
 * Returns the files that the paths stand for, in order and each once; in folders, those that kubectl reads. `fail` receives the problems
 * with paths.
 */
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
      // Links to folders are not followed: they may lead back.
      return recursive && entry.isDirectory() ? filesIn(path, recursive) : [];
    }
    return MANIFEST.test(entry.name) ? [path] : [];
  });
}

/** Reads a file, or standard input for `-`. Throws an Error with one line of text. */
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
