import { EventEmitter } from 'node:events';
import type { MongoClient } from 'mongodb';
import { setCurrentSpanSource, type Span, waitingWrites } from '../../../util/tracing.js';
import { traceCommands } from './commands.js';

/** A span that records its children and their ends. */
class NotedSpan implements Span {
  readonly sampled = true;
  recording = true;
  readonly traceId = '';
  readonly spanId = '';
  readonly traceparent = '';

  constructor(
    private readonly notes: string[],
    private readonly name: string,
  ) {}

  start(name: string): Span {
    this.notes.push(`${this.name}: ${name}`);
    return new NotedSpan(this.notes, name);
  }

  setAttributes(): void {
    throw new Error('nothing is to be noted');
  }

  end(error?: string): void {
    this.notes.push(`${this.name} ${error === undefined ? 'ended' : `failed: ${error}`}`);
  }

  run<T>(work: () => T): T {
    return work();
  }
}

const notes: string[] = [];
const client = new EventEmitter();
let requests = 0;
traceCommands(client as unknown as MongoClient);

function send(commandName: string, command: object, failure?: string): void {
  const requestId = ++requests;
  client.emit('commandStarted', { requestId, commandName, command, databaseName: 'annex', address: 'localhost:27017' });
  if (failure === undefined) client.emit('commandSucceeded', { requestId });
  else client.emit('commandFailed', { requestId, failure });
}

beforeEach(() => {
  notes.length = 0;
  waitingWrites.clear();
  setCurrentSpanSource(() => undefined);
});

test('a command is a child span of the operation that sends it', () => {
  const span = new NotedSpan(notes, 'Get');
  setCurrentSpanSource(() => span);
  send('find', { find: 'log', filter: { secret: 1 } });
  send('getMore', { getMore: 1, collection: 'log' }, 'lost');
  send('hello', { hello: 1 });
  expect(notes).toEqual([
    'Get: find log',
    'find log ended',
    'Get: getMore log',
    'getMore log failed: lost',
    'Get: hello',
    'hello ended',
  ]);
});

test('a commit is a child span of the first write that waits for it', () => {
  const over = new NotedSpan(notes, 'over');
  over.recording = false;
  setCurrentSpanSource(() => over);
  send('insert', { insert: 'log' });
  for (const name of ['first', 'second']) waitingWrites.add(new NotedSpan(notes, name));
  send('insert', { insert: 'log' });
  send('find', { find: 'log' });
  expect(notes).toEqual(['first: insert log', 'insert log ended']);
});
