import type { CommandStartedEvent, MongoClient } from 'mongodb';
import { currentSpan, type Span, waitingWrites } from '../../../util/tracing.js';

/** Traces the commands of a client as spans of the requests that send them. The contents of commands are left out. */
export function traceCommands(client: MongoClient): void {
  const spans = new Map<number, Span>();
  const over = ({ requestId }: { readonly requestId: number }, error?: unknown): void => {
    spans.get(requestId)?.end(error);
    spans.delete(requestId);
  };
  client.on('commandStarted', (event) => {
    const parent = parentOf(event);
    if (parent !== undefined) spans.set(event.requestId, parent.start(...described(event)));
  });
  client.on('commandSucceeded', (event) => over(event));
  client.on('commandFailed', (event) => over(event, event.failure));
}

function parentOf({ commandName }: CommandStartedEvent): Span | undefined {
  const current = currentSpan();
  // Loops continue in the context of the request that started them, which may have ended.
  if (current?.recording === true) return current;
  if (commandName !== 'insert') return undefined;
  for (const span of waitingWrites) if (span.recording) return span;
  return undefined;
}

function described({ commandName, command, databaseName, address }: CommandStartedEvent): Parameters<Span['start']> {
  const target: unknown = command[commandName === 'getMore' ? 'collection' : commandName];
  const collection = typeof target === 'string' ? target : '';
  const attributes = {
    'db.system': 'mongodb',
    'db.name': databaseName,
    'db.operation': commandName,
    'db.mongodb.collection': collection,
    'server.address': address,
  };
  return [collection === '' ? commandName : `${commandName} ${collection}`, attributes];
}
