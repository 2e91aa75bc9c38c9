import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JsonValue } from '../json/json.js';

/** Returns the project's `data` folder: next to `src` in a checkout, next to `dist` in a package. */
function findDataFolder(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, 'data');
    if (existsSync(join(candidate, 'types', 'types.json'))) return candidate;
  }
  throw new Error('the data folder is missing: data/types/types.json was not found beside the program');
}

let folder: string | undefined;

/** Returns the path of a file below the `data` folder. */
export function dataFile(...names: string[]): string {
  folder ??= findDataFolder();
  return join(folder, ...names);
}

/** Reads a JSON file of the `data` folder, which ships with the program and is trusted. */
export function readDataFile(...names: string[]): JsonValue {
  return JSON.parse(readFileSync(dataFile(...names), 'utf8')) as JsonValue;
}
