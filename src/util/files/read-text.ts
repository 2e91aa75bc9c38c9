import { readFile } from 'node:fs/promises';

/** Reads a file with text. */
export const readText = (path: string): Promise<string> => readFile(path, 'utf8');
