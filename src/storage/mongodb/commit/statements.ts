import { BSON, type Document } from 'mongodb';
import type { Revision } from '../../interfaces.js';
import { META, type LogDocument, type LogPlace, type State } from '../documents.js';

/** A command of a transaction: something is done to documents of one collection. */
export interface Statement {
  readonly verb: 'insert' | 'update' | 'delete';
  readonly collection: string;
  /** In BSON: documents to insert, or what to do to one document each, which must be there for it. */
  readonly documents: readonly Uint8Array[];
}

/** What becomes of one object in a transaction. */
export interface Operations {
  readonly inserts: Document[];
  readonly replacements: { readonly q: Document; readonly u: State }[];
  readonly deletions: { readonly q: Document; readonly limit: 1 }[];
}

/** A message takes 48,000,000 bytes at most. */
const MAX_BYTES = 40 << 20;

export function insertionOf(collection: string, entries: readonly LogDocument[]): Statement[] {
  return inParts('insert', collection, entries);
}

export function statementsOf(collection: string, { inserts, replacements, deletions }: Operations): Statement[] {
  return [
    ...inParts('insert', collection, inserts),
    ...inParts('update', collection, replacements),
    ...inParts('delete', collection, deletions),
  ];
}

/**
 * Fails, and the transaction with it, where the floor of the log has reached a revision; else it only reads. MongoDB never
 * changes an `_id`, so the statement is an error wherever it finds the document.
 */
export function fenceAt({ compactedId }: LogPlace, first: Revision): Statement {
  const document = { q: { _id: compactedId, revision: { $gte: first } }, u: { $set: { _id: 'overtaken' } } };
  return { verb: 'update', collection: META, documents: [BSON.serialize(document)] };
}

/** Of an object as it was at a revision; 0: at any. */
export const documentAt = (_id: string, revision: Revision): Document =>
  revision === 0 ? { _id } : { _id, '_annex.revision': revision };

/** As few commands as hold all of them. */
function inParts(verb: Statement['verb'], collection: string, all: readonly object[]): Statement[] {
  const statements: Statement[] = [];
  let documents: Uint8Array[] = [];
  let size = 0;
  for (const one of all) {
    const document = BSON.serialize(one, { ignoreUndefined: true });
    if (documents.length > 0 && size + document.length > MAX_BYTES) {
      statements.push({ verb, collection, documents });
      documents = [];
      size = 0;
    }
    documents.push(document);
    size += document.length;
  }
  if (documents.length > 0) statements.push({ verb, collection, documents });
  return statements;
}
