import type { ClientSession, Db, Document } from 'mongodb';
import type { Revision } from '../interfaces.js';
import type { LogDocument, State } from './documents.js';
import { WriteRefused } from './failures.js';

/** A command of a transaction: something is done to documents of one collection. */
export interface Statement {
  readonly command: Document;
  /** So many documents must be there for it. */
  readonly documents: number;
}

/** What becomes of one object in a transaction. */
export interface Operations {
  readonly inserts: Document[];
  readonly replacements: { readonly q: Document; readonly u: State }[];
  readonly deletions: { readonly q: Document; readonly limit: 1 }[];
}

/** A command is a document itself, of 16 MiB at most; what is guessed of its size is far above what it is. */
const MAX_GUESS = 12 << 20;
const DOCUMENT_BYTES = 2 << 10;
/** An element of an array of digits takes two bytes of JSON and ten of BSON; the JSON bytes stand beside it. */
const BSON_FACTOR = 6;

/** A command does not take the client's ways of encoding. */
const OPTIONS = { ignoreUndefined: true } as const;

export function insertionOf(collection: string, entries: readonly LogDocument[]): Statement[] {
  const guess = ({ bytes, before }: LogDocument): number => (bytes?.length ?? 0) + (before?.length ?? 0);
  return inParts(entries, guess, (documents) => ({ insert: collection, documents }));
}

export function statementsOf(collection: string, operations: Operations): Statement[] {
  const { inserts, replacements, deletions } = operations;
  return [
    ...inParts(inserts, guessState, (documents) => ({ insert: collection, documents })),
    ...inParts(
      replacements,
      ({ u }) => guessState(u),
      (updates) => ({ update: collection, updates }),
    ),
    ...inParts(
      deletions,
      () => 0,
      (deletes) => ({ delete: collection, deletes }),
    ),
  ];
}

/** Of an object as it was at a revision; 0: at any. */
export const documentAt = (_id: string, revision: Revision): Document =>
  revision === 0 ? { _id } : { _id, '_annex.revision': revision };

/**
 * Runs one in a transaction; how many documents it concerned. Done with the plain command: the driver's ways to write many
 * documents cost more than the command itself. Throws WriteRefused where MongoDB answered that a document cannot be written.
 */
export async function run(db: Db, { command }: Statement, session: ClientSession): Promise<number> {
  const reply = await db.command(command, { ...OPTIONS, session });
  const [failure] = (reply['writeErrors'] ?? []) as readonly { readonly code: number; readonly errmsg: string }[];
  if (failure !== undefined) throw new WriteRefused(failure.errmsg, failure.code);
  return reply['n'] as number;
}

function guessState(document: Document): number {
  const { bytes } = document['_annex'] as State['_annex'];
  return bytes.length * BSON_FACTOR;
}

/** As few commands as hold all of them. */
function inParts<T>(
  all: readonly T[],
  guess: (one: T) => number,
  command: (some: readonly T[]) => Document,
): Statement[] {
  const statements: Statement[] = [];
  let part: T[] = [];
  let size = 0;
  for (const one of all) {
    const bytes = guess(one) + DOCUMENT_BYTES;
    if (part.length > 0 && size + bytes > MAX_GUESS) {
      statements.push({ command: command(part), documents: part.length });
      part = [];
      size = 0;
    }
    part.push(one);
    size += bytes;
  }
  if (part.length > 0) statements.push({ command: command(part), documents: part.length });
  return statements;
}
