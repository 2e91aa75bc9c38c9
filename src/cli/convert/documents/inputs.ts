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
  /** True if the user named it, rather than a folder that has it. Such a file must consist of Kubernetes objects. */
  readonly named: boolean;
}

export interface FoundFile {
  readonly path: string;
  readonly named: boolean;
}

const MANIFEST = /\.(json|ya?ml)$/i;

/**
 * Returns the files that the paths stand for, in order and each once; in folders, those that kubectl reads. `fail` receives the problems
 * with paths.
 */
export function filesOf(
  paths: readonly string[],
  recursive: boolean,
  fail: (line: string) => void,
): readonly FoundFile[] {
  const found = new Map<string, boolean>();
  const add = (path: string): void => {
    if (path === '-' || !statSync(path).isDirectory()) found.set(path, true);
    else for (const file of filesIn(path, recursive)) found.set(file, found.get(file) ?? false);
  };
  for (const path of paths) {
    try {
      add(path);
    } catch (error) {
      fail(`${path}: ${messageOf(error)}`);
    }
  }
  return [...found].map(([path, named]) => ({ path, named }));
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
export function readInput({ path, named }: FoundFile, readStandardInput: () => Buffer): Input {
  const isStandardInput = path === '-';
  const name = isStandardInput ? 'standard input' : path;
  let bytes: Buffer;
  try {
    bytes = isStandardInput ? readStandardInput() : readFileSync(path);
  } catch (error) {
    throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
  }
  try {
    return { name, path: isStandardInput ? undefined : path, pieces: readPieces(bytes), named };
  } catch (error) {
    throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
  }
}
