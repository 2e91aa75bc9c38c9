import { MongoBulkWriteError, type AnyBulkWriteOperation, type Collection, type Db, type Document } from 'mongodb';
import { parseJson } from '../../../apimachinery/json/decode.js';
import { isObject } from '../../../apimachinery/json/json.js';
import { encodeObject } from '../../encode.js';
import { isEncrypted } from '../../encryption/transformer.js';
import type { EncodedObject, LogEvent } from '../../interfaces.js';
import { asBuffer } from '../../../util/bytes.js';
import { recordOf, UNCHECKED } from '../../record.js';
import { statesOf, type State, type StateDocument } from '../documents.js';
import { DUPLICATE_KEY, isDuplicateKey, isRefusal } from '../connection/failures.js';
import { readableForm } from './readable.js';
import type { CommittedBatch } from '../following/backlog.js';

/** The new state of an object in the projection. */
interface Projected {
  readonly event: LogEvent;
  /** The written value, if this process wrote it; undefined: it is read from the event. */
  readonly value: EncodedObject | undefined;
  /** True if this process wrote it. */
  readonly isOwn: boolean;
  /** True if no such object existed before. */
  readonly isNew: boolean;
}

/** Projects some batches: the last state of each object. A document never goes back to an older revision. */
export async function project(db: Db, batches: readonly CommittedBatch[]): Promise<void> {
  for (const [resource, states] of lastStates(batches)) {
    const collection = statesOf(db, resource);
    const there = await writeAll(collection, [...states.values()], (one) => {
      const document = { _id: one.event.key, ...stateOf(one) };
      return one.isNew ? { insertOne: { document } } : replacementOf(document);
    });
    // The document that exists is a newer state, or the tombstone of an earlier object.
    const left = there.filter(({ isNew }) => isNew);
    await writeAll(collection, left, (one) => replacementOf({ _id: one.event.key, ...stateOf(one) }));
  }
}

function lastStates(batches: readonly CommittedBatch[]): Map<string, Map<string, Projected>> {
  const types = new Map<string, Map<string, Projected>>();
  for (const { events, values } of batches) {
    events.forEach((event, i) => {
      let states = types.get(event.resource);
      if (states === undefined) types.set(event.resource, (states = new Map<string, Projected>()));
      const isNew = states.get(event.key)?.isNew ?? event.previous === undefined;
      states.set(event.key, { event, value: values?.[i], isOwn: values !== undefined, isNew });
    });
  }
  return types;
}

type Operation = AnyBulkWriteOperation<StateDocument>;

/** Replaces an older document. If a newer one exists, the operation fails as a duplicate. */
function replacementOf({ _id, ...replacement }: StateDocument): Operation {
  const filter = { _id, '_annex.revision': { $lt: replacement._annex.revision } };
  return { replaceOne: { filter, replacement, upsert: true } };
}

/** Executes the operations that succeed; returns the objects for which a document was in the way. */
async function writeAll(
  collection: Collection<StateDocument>,
  all: readonly Projected[],
  operationOf: (one: Projected) => Operation,
): Promise<Projected[]> {
  if (all.length === 0) return [];
  try {
    await collection.bulkWrite(all.map(operationOf), { ordered: false });
    return [];
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (error instanceof MongoBulkWriteError) return await conflictsOf(collection, all, operationOf, error);
    // The driver refuses the whole bulk because of one operation.
    const there: Projected[] = [];
    for (const one of all) if (await writeConflicts(collection, operationOf(one))) there.push(one);
    return there;
  }
}

async function conflictsOf(
  collection: Collection<StateDocument>,
  all: readonly Projected[],
  operationOf: (one: Projected) => Operation,
  error: MongoBulkWriteError,
): Promise<Projected[]> {
  const failures = [error.writeErrors].flat();
  if (error.result.getWriteConcernError() !== undefined) throw error;
  const there: Projected[] = [];
  for (const { index, code } of failures) {
    const one = all[index];
    if (one === undefined) throw error;
    if (code === DUPLICATE_KEY || (await writeConflicts(collection, operationOf(one)))) there.push(one);
  }
  return there;
}

/** Executes a single operation, without the readable fields if MongoDB refuses them. Returns true if a document was in the way. */
async function writeConflicts(collection: Collection<StateDocument>, operation: Operation): Promise<boolean> {
  for (const attempt of [operation, bare(operation)]) {
    try {
      await collection.bulkWrite([attempt], { ordered: false });
      return false;
    } catch (error) {
      if (isDuplicateKey(error)) return true;
      if (attempt !== operation || !isRefusal(error)) throw error;
    }
  }
  return false;
}

function bare(operation: Operation): Operation {
  if ('insertOne' in operation) {
    const { _id, _annex } = operation.insertOne.document as StateDocument;
    return { insertOne: { document: { _id, _annex } } };
  }
  if (!('replaceOne' in operation)) return operation;
  const { filter, replacement } = operation.replaceOne;
  return { replaceOne: { filter, replacement: { _annex: (replacement as State)._annex }, upsert: true } };
}

function stateOf(one: Projected): State {
  const { revision, type, object } = one.event;
  if (type === 'DELETED') return { _annex: { revision, deleted: true } };
  const value = one.isOwn ? one.value : valueOf(one.event);
  const readable: Document | undefined =
    value === undefined || value.sealed !== undefined ? undefined : readableForm(value, revision);
  return { _annex: { revision, bytes: recordOf(object) }, ...readable };
}

/** Returns the value of another replica's write, or undefined if it is encrypted or not an object. */
function valueOf({ object: { bytes, flags } }: LogEvent): EncodedObject | undefined {
  if (flags === UNCHECKED || isEncrypted(bytes)) return undefined;
  try {
    const object = parseJson(asBuffer(bytes).toString('utf8'));
    return isObject(object) ? encodeObject(object) : undefined;
  } catch {
    return undefined;
  }
}
