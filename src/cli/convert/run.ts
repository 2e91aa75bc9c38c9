import { chmodSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { messageOf } from '../../util/error-message.js';
import { check, hasFailed as usesRemoved, reportText } from './check.js';
import { convertDocuments, fileText, hasFailed, isLeftAlone, type Result, streamText } from './convert-documents.js';
import { CURRENT } from './convert-value.js';
import { Definitions, objectsOfDocument } from './definitions/definitions.js';
import { filesOf, type FoundFile, type Input, readInput } from './documents/inputs.js';
import { minorOf } from './lifecycles.js';
import type { Progress } from '../progress.js';
import { isTarget } from './table.js';

export interface ConvertOptions {
  readonly paths: readonly string[];
  readonly recursive?: boolean;
  readonly output?: 'json' | 'yaml';
  readonly write?: boolean;
  readonly outputVersion?: string;
  readonly check?: boolean;
  readonly targetVersion?: string;
  readonly definitions?: readonly string[];
  readonly allowLoss?: boolean;
  readonly verbose?: boolean;
}

/** The command's environment, apart from files. */
export interface ConvertIO {
  readonly progress: Pick<Progress, 'step'>;
  readStandardInput(): Buffer;
  out(text: string): void;
  readonly err: (line: string) => void;
}

/** Throws an Error for options that do not fit together. */
function checkOptions(options: ConvertOptions): void {
  const { paths, output, write = false, outputVersion, check: checks = false, targetVersion } = options;
  if (paths.length === 0) throw new Error('specify files or folders, or - for standard input');
  if (write && paths.includes('-')) throw new Error('--write requires files: standard input cannot be written');
  if (write && output !== undefined)
    throw new Error('--write keeps the format of each file and cannot be combined with --output');
  if (targetVersion !== undefined && !checks) throw new Error('--target-version requires --check');
  if (targetVersion !== undefined && minorOf(targetVersion) === undefined)
    throw new Error(`--target-version: ${targetVersion} is not a Kubernetes release, such as 1.32`);
  if (!checks) return;
  if (write) throw new Error('--check changes nothing and cannot be combined with --write');
  if (outputVersion !== undefined) throw new Error('--output-version cannot be combined with --check');
  if (output === 'yaml') throw new Error('--check reports as text or, with --output json, as JSON');
}

/** Runs the command and returns its exit code. Throws an Error for options that cannot be met. */
export function runConvert(options: ConvertOptions, io: ConvertIO): number {
  checkOptions(options);
  const definitions = new Definitions();
  const state = { failed: false };
  const fail = (line: string): void => {
    state.failed = true;
    io.err(`error: ${line}`);
  };
  const { check: checks = false, write = false, allowLoss = false, outputVersion } = options;
  readDefinitions(options, definitions, io, fail);
  const inputs = readInputs(options, io, fail);
  for (const input of inputs) addDefinitions(input, definitions, () => undefined);
  if (options.verbose === true) nameForeign(inputs, io.err);
  if (checks) return runCheck(options, inputs, definitions, io) || state.failed ? 1 : 0;
  if (outputVersion !== undefined && !isTarget(outputVersion) && !definitions.serves(outputVersion))
    throw new Error(`--output-version: there is no conversion to ${outputVersion}`);
  const rules = { outputVersion, definitions, allowLoss };
  const results = inputs.map((input, i) => {
    io.progress.step(i, inputs.length, 'files converted');
    const converted = convertDocuments(input, rules, io.err);
    if (write) writeBack(input, converted, io, fail);
    return converted;
  });
  if (!write) io.out(streamText(results, options.output));
  return state.failed || results.flat().some(hasFailed) ? 1 : 0;
}

function readInputs(
  { paths, recursive = false }: ConvertOptions,
  io: ConvertIO,
  fail: (line: string) => void,
): readonly Input[] {
  const files = filesOf(paths, recursive, fail);
  return files.flatMap((file, i) => {
    io.progress.step(i, files.length, 'files read');
    return readOrFail(file, io, fail);
  });
}

/** Returns the input, or nothing if it cannot be read. */
function readOrFail(file: FoundFile, io: ConvertIO, fail: (line: string) => void): readonly Input[] {
  try {
    return [readInput(file, () => io.readStandardInput())];
  } catch (error) {
    fail(messageOf(error));
    return [];
  }
}

/** Names the documents in folders that are left alone because they are not Kubernetes objects. */
function nameForeign(inputs: readonly Input[], report: (line: string) => void): void {
  for (const input of inputs)
    for (const piece of input.pieces)
      if (isLeftAlone(input, piece)) report(`left alone: ${input.name}:${String(piece.line)}: ${piece.problem ?? ''}`);
}

function readDefinitions(
  options: ConvertOptions,
  definitions: Definitions,
  io: ConvertIO,
  fail: (line: string) => void,
): void {
  for (const file of filesOf(options.definitions ?? [], true, fail))
    for (const input of readOrFail(file, io, fail)) addDefinitions(input, definitions, fail);
}

function addDefinitions(input: Input, definitions: Definitions, fail: (line: string) => void): void {
  for (const { value, line, problem, foreign = false } of input.pieces) {
    if (problem !== undefined && (input.named || !foreign)) fail(`${input.name}:${String(line)}: ${problem}`);
    for (const object of objectsOfDocument(value)) {
      const wrong = definitions.add(object);
      if (wrong !== undefined) fail(`${input.name}:${String(line)}: the definition cannot be used: ${wrong}`);
    }
  }
}

function runCheck(options: ConvertOptions, inputs: readonly Input[], definitions: Definitions, io: ConvertIO): boolean {
  const report = check(inputs, options.targetVersion ?? `1.${String(CURRENT)}`, definitions);
  io.out(options.output === 'json' ? `${JSON.stringify(report, undefined, 2)}\n` : reportText(report));
  return usesRemoved(report);
}

/** Replaces a file if documents in it were converted. */
function writeBack(
  { path, name }: Input,
  results: readonly Result[],
  io: ConvertIO,
  fail: (line: string) => void,
): void {
  const count = results.filter(({ verdict }) => verdict === 'converted').length;
  if (path === undefined || count === 0) return;
  try {
    replaceFile(path, fileText(results));
    io.out(`${name}: ${String(count)} ${count === 1 ? 'document' : 'documents'} converted\n`);
  } catch (error) {
    fail(`${name}: ${messageOf(error)}`);
  }
}

/** Replaces the file atomically: a program that ends in between leaves no half-written file. */
function replaceFile(path: string, text: string): void {
  const real = realpathSync(path);
  const temporary = `${real}.annex-convert-${String(process.pid)}`;
  const { mode } = statSync(real);
  try {
    writeFileSync(temporary, text, { mode, flag: 'wx', flush: true });
    chmodSync(temporary, mode);
    renameSync(temporary, real);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
