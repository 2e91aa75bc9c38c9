import { type Command, InvalidArgumentError } from 'commander';
import { type JsonObject, objectAt, objectsOf, textAt } from '../../apimachinery/json/json.js';
import { type AskingFlags, askedFor } from './asking.js';
import { pathOf, type Resource } from './discovery.js';
import { describe, FAILED } from './failure.js';
import { explained } from './hints.js';
import type { OutputFlags } from './print/printer.js';
import { TablePrinter } from './print/table.js';
import { type ListRequest, pages, type SelectionFlags } from './selection.js';
import type { Session, SessionFlags } from './session.js';

export interface GetFlags extends SessionFlags, SelectionFlags, AskingFlags, OutputFlags {
  readonly limit?: number;
  readonly chunkSize: number;
  readonly watch?: boolean;
  readonly watchOnly?: boolean;
  readonly outputWatchEvents?: boolean;
  readonly showLabels?: boolean;
  readonly labelColumns?: string;
  readonly ignoreNotFound?: boolean;
}

export const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
export const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export const withOutput = (command: Command): Command =>
  command
    .option(
      '-o, --output <format>',
      'json, yaml, name, wide, jsonpath=…, jsonpath-file=…, jsonpath-as-json=…, custom-columns=… or custom-columns-file=…. Default: a table.',
    )
    .option('--show-managed-fields', 'Shows managedFields in JSON and YAML.')
    .option('--no-headers', 'Without a line of headers.')
    .option('--show-labels', 'A column with all labels.')
    .option('-L, --label-columns <labels>', 'A column for each of these labels, separated by commas.');

/** The flag of commands that ask a question. */
export const WHERE = [
  '--where <expression>',
  "Only objects for which the CEL expression is true, such as 'object.summary.fail > 0'.",
] as const;

export const withQuestion = (command: Command): Command =>
  command
    .option(...WHERE)
    .option('--order-by <expressions>', "CEL expressions, each with asc or desc, such as 'object.summary.fail desc'.")
    .option('--sort-by <path>', "As kubectl's flag: a path of fields, such as .metadata.creationTimestamp.");

/** Returns a Table printer for what the flags ask for. */
export const tablePrinter = (flags: GetFlags, { namespaced }: Resource, kind?: string): TablePrinter =>
  new TablePrinter({
    wide: (flags.output ?? '').replace(/^=/, '') === 'wide',
    headers: flags.headers !== false,
    withNamespace: (namespaced || kind !== undefined) && flags.allNamespaces === true,
    labels: flags.showLabels === true,
    labelColumns: (flags.labelColumns ?? '').split(',').filter((label) => label !== ''),
    kind,
    withEvent: flags.outputWatchEvents === true,
  });

/** Returns one Table of all pages of a list, or of the objects that are named. */
export async function tableOf(
  session: Session,
  resource: Resource,
  names: readonly string[],
  flags: GetFlags,
): Promise<JsonObject> {
  let merged: JsonObject | undefined;
  const add = (table: JsonObject): void => {
    if (merged === undefined) merged = table;
    else objectsOf(table['rows']).forEach((row) => (merged?.['rows'] as JsonObject[]).push(row));
  };
  if (names.length > 0) await eachNamed(session, resource, names, flags, TABLE, add);
  else await eachPage(session, listOf(resource, flags, TABLE), add);
  return merged ?? {};
}

export const listOf = (resource: Resource, flags: GetFlags, accept: string): ListRequest => ({
  resource,
  flags,
  asked: askedFor(flags),
  accept,
  chunk: flags.chunkSize,
  limit: flags.limit,
});

export async function eachPage(session: Session, request: ListRequest, add: (list: JsonObject) => void): Promise<void> {
  const { resource, asked } = request;
  await explained(session, resource, asked, async () => {
    for await (const { body } of pages(session, request)) add(body);
  });
}

/** Gets objects by name. Those that cannot be got are told, and the others shown. */
export async function eachNamed(
  session: Session,
  resource: Resource,
  names: readonly string[],
  flags: GetFlags,
  accept: string,
  add: (answer: JsonObject) => void,
): Promise<void> {
  const path = pathOf(resource, session.namespace);
  for (const name of names) {
    try {
      add((await session.request({ method: 'GET', path: `${path}/${encodeURIComponent(name)}`, accept })).body);
    } catch (error) {
      if (flags.ignoreNotFound === true && (error as { status?: number }).status === 404) continue;
      session.terminal.error(describe(error).text);
      process.exitCode = FAILED;
    }
  }
}

/** Returns the resourceVersion of a list. */
export const revisionOf = (list: JsonObject): string => textAt(objectAt(list, 'metadata'), 'resourceVersion');
