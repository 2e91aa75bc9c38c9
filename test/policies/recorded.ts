import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Refusal } from './install.js';
import { DATA } from './published.js';

/** The recorded responses of kube-apiserver. */
export interface Recorded {
  /** Refused policies. */
  readonly refusals: readonly Refusal[];
  /** Samples that a policy refuses: the index of the sample, code, and message. */
  readonly denials: readonly (readonly [number, number, string])[];
  readonly warnings: readonly string[];
  /** For each object, the indices of `warnings` that all policies together return. */
  readonly warned: readonly (readonly number[])[];
}

/** The responses of this run's server. */
export interface Found {
  refusals: readonly Refusal[];
  denials: Recorded['denials'];
  /** The warnings of each object, in the order of objects. */
  warned: readonly (readonly string[])[];
}

const fileOf = (project: string): string => join(DATA, `${project}.answers.json`);

export const readRecorded = (project: string): Recorded =>
  JSON.parse(readFileSync(fileOf(project), 'utf8')) as Recorded;

export function writeRecorded(project: string, found: Found): void {
  const warnings = [...new Set(found.warned.flat())].sort();
  const warned = found.warned.map((texts) => texts.map((text) => warnings.indexOf(text)));
  const lines = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(',\n');
  const text = `{"refusals":${JSON.stringify(found.refusals)},\n"denials":[\n${lines(found.denials)}\n],"warnings":[\n${lines(warnings)}\n],"warned":[\n${lines(warned)}\n]}\n`;
  writeFileSync(fileOf(project), text);
}
