import { encodeObject } from '../../../src/storage/encode.js';
import { compacted, StorageError, tooLarge } from '../../../src/storage/errors.js';
import type {
  LocalStates,
  LocalStateSource,
  EventStream,
  ListOptions,
  LogEvent,
  Revision,
  StoredList,
  StoredObject,
} from '../../../src/storage/interfaces.js';
import type { CachedBackend } from '../../../src/storage/cacher/shared.js';
import { widget } from '../../storage/fixtures.js';
import type { Random } from '../random.js';

/** A pending request: it reads at some time, and is answered at some later time. */
interface Question {
  read: boolean;
  look(): void;
  respond(): void;
  fail(error: Error): void;
}

/** One reader of the log. */
class Stream {
  private ready: LogEvent[] = [];
  private error: Error | undefined;
  private wake: (() => void) | undefined;
  ended = false;

  constructor(
    private readonly log: readonly LogEvent[],
    public position: Revision,
  ) {}

  get behind(): number {
    return (this.log.at(-1)?.revision ?? 1) - this.position;
  }

  /** Delivers the next events as one batch. */
  deliver(count: number): void {
    const from = this.position - 1;
    this.ready.push(...this.log.slice(from, from + count));
    this.position = Math.min(this.position + count, this.log.at(-1)?.revision ?? 1);
    this.wake?.();
  }

  /** Skips events, which a correct backend never does. */
  skip(count: number): void {
    this.position = Math.min(this.position + count, this.log.at(-1)?.revision ?? 1);
  }

  fail(error: Error): void {
    this.error = error;
    this.wake?.();
  }

  async *read(signal: AbortSignal): AsyncGenerator<readonly LogEvent[], void, undefined> {
    try {
      while (!signal.aborted) {
        if (this.ready.length > 0) {
          yield this.ready.splice(0);
        } else if (this.error !== undefined) {
          throw this.error;
        } else {
          await new Promise<void>((resolve) => {
            const wake = (): void => {
              signal.removeEventListener('abort', wake);
              resolve();
            };
            this.wake = wake;
            signal.addEventListener('abort', wake);
          });
        }
      }
    } finally {
      this.ended = true;
    }
  }
}

/** A store that answers when the explorer decides, and a log of what was really written. */
export class FakeBackend implements CachedBackend {
  readonly log: LogEvent[] = [];
  private readonly states = new Map<string, StoredObject>();
  private questions: Question[] = [];
  private streams: Stream[] = [];
  private floor: Revision = 1;
  /** True if lists may show the past, as on a primary that has just been elected. */
  stale = false;
  /** True if objects can be read from a file without waiting. */
  readonly localStates: LocalStateSource | undefined;
  readonly knownRevisions = undefined;

  constructor(private readonly random: Random) {
    this.localStates = random.chance(0.5) ? { of: (resource) => this.statesOf(resource) } : undefined;
  }

  get newest(): Revision {
    return this.log.length + 1;
  }

  write(resource: string, key: string, color: string): void {
    const id = `${resource} ${key}`;
    const previous = this.states.get(id);
    const revision = this.newest + 1;
    const gone = previous !== undefined && color === '';
    const { head, tail } = encodeObject(widget(key, { color }));
    const bytes = gone ? previous.bytes : Buffer.from(`${head}${revision}${tail}`);
    const object: StoredObject = { key, revision, bytes, flags: 0 };
    const type = gone ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED';
    this.log.push({ revision, resource, key, type, object, previous });
    if (gone) this.states.delete(id);
    else this.states.set(id, object);
  }

  /** Returns the state at a revision: the last write of each key. */
  stateAt(resource: string, revision: Revision): Map<string, LogEvent> {
    const state = new Map<string, LogEvent>();
    for (const event of this.log) {
      if (event.revision > revision) break;
      if (event.resource !== resource) continue;
      if (event.type === 'DELETED') state.delete(event.key);
      else state.set(event.key, event);
    }
    return state;
  }

  list(resource: string, options: ListOptions): Promise<StoredList> {
    return this.ask(() => {
      const back = this.stale ? this.random.below(8) : 0;
      const revision = options.revision === 0 ? Math.max(1, this.newest - back) : options.revision;
      if (revision > this.newest) throw tooLarge(revision, this.newest);
      if (options.revision !== 0 && revision < this.floor) throw compacted(revision, this.floor);
      const found = [...this.stateAt(resource, revision).values()].map((event) => event.object);
      const items = found
        .filter(({ key }) => key.startsWith(options.prefix) && key >= options.from)
        .sort((a, b) => (a.key < b.key ? -1 : 1));
      const page = options.limit === 0 ? items : items.slice(0, options.limit);
      return { items: page, revision, more: page.length < items.length, remaining: items.length - page.length };
    });
  }

  private statesOf(resource: string): LocalStates {
    return {
      read: (key, revision) => this.kept(resource, key, revision),
      walk: async (visit) => {
        const list = await this.list(resource, { prefix: '', from: '', limit: 0, revision: 0 });
        for (const object of list.items) visit(object);
        return list.revision;
      },
      copy: undefined,
    };
  }

  /** Returns the state that `revision` wrote; undefined if it was superseded at or below the floor. */
  private kept(resource: string, key: string, revision: Revision): StoredObject | undefined {
    const ofKey = this.log.filter((event) => event.resource === resource && event.key === key);
    const at = ofKey.findIndex((event) => event.revision === revision);
    const next = ofKey[at + 1];
    return at < 0 || (next !== undefined && next.revision <= this.floor) ? undefined : ofKey[at]?.object;
  }

  currentRevision(): Promise<Revision> {
    return this.ask(() => this.newest);
  }

  revisionNow(): undefined {
    return undefined;
  }

  compactedRevision(): Revision {
    return this.floor;
  }

  events(after: Revision, signal: AbortSignal): EventStream {
    if (after < this.floor) throw compacted(after, this.floor);
    if (after > this.newest) throw tooLarge(after, this.newest);
    const stream = new Stream(this.log, after);
    this.streams.push(stream);
    return stream.read(signal);
  }

  /** Lets one request read, or answers it. */
  answer(): void {
    const question = this.questions.length === 0 ? undefined : this.random.pick(this.questions);
    if (question === undefined) return;
    if (!question.read) {
      question.look();
      if (this.random.chance(0.3)) return;
    }
    this.done(question);
    question.respond();
  }

  refuse(): void {
    const question = this.questions.length === 0 ? undefined : this.random.pick(this.questions);
    if (question === undefined) return;
    this.done(question);
    question.fail(new StorageError('unavailable', 'the store does not answer'));
  }

  deliver(): void {
    this.withStream((stream) => {
      stream.deliver(1 + this.random.below(4));
    });
  }

  /** Makes a reader of the log fail, or skip events. With 'compacted', the events that it had not read yet are gone. */
  lose(how: 'unavailable' | 'compacted' | 'hole'): void {
    this.withStream((stream) => {
      if (how === 'unavailable') stream.fail(new StorageError('unavailable', 'the stream broke off'));
      else if (how === 'hole') {
        // A hole is only detectable once something follows.
        if (stream.behind < 2) return;
        stream.skip(1 + this.random.below(stream.behind - 1));
        stream.deliver(2);
      } else {
        this.compact();
        if (stream.position < this.floor) stream.fail(compacted(stream.position, this.floor));
      }
    });
  }

  /** Discards the history up to now. Readers that are behind fail. */
  compact(): void {
    this.floor = this.newest;
    for (const stream of this.streams)
      if (stream.position < this.floor) stream.fail(compacted(stream.position, this.floor));
  }

  /** Answers all requests, and delivers all events. */
  settle(): void {
    for (const question of this.questions.splice(0)) {
      if (!question.read) question.look();
      question.respond();
    }
    this.streams = this.streams.filter((stream) => !stream.ended);
    for (const stream of this.streams) if (stream.behind > 0) stream.deliver(stream.behind);
  }

  private withStream(action: (stream: Stream) => void): void {
    this.streams = this.streams.filter((stream) => !stream.ended);
    if (this.streams.length > 0) action(this.random.pick(this.streams));
  }

  private done(question: Question): void {
    this.questions = this.questions.filter((other) => other !== question);
  }

  private ask<T>(look: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let respond = (): void => undefined;
      this.questions.push({
        read: false,
        look() {
          this.read = true;
          try {
            const answer = look();
            respond = () => {
              resolve(answer);
            };
          } catch (error) {
            respond = () => {
              reject(error instanceof Error ? error : new Error(String(error)));
            };
          }
        },
        respond: () => {
          respond();
        },
        fail: reject,
      });
    });
  }
}
