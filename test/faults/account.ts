/** A write as its client sees it. Each key has one writer, which stops using the key after an unknown outcome. */
export interface Write {
  readonly key: string;
  readonly server: string;
  readonly verb: string;
  /** The value of the object, different for each write. */
  readonly value: string;
  /** Undefined if the outcome is unknown. For a deletion, 0, because its response has no revision. */
  readonly revision: number | undefined;
  /** For a deletion, a revision that was acknowledged later. */
  before?: number;
}

export interface Shown {
  readonly revision: number;
  readonly value: string;
}

export interface Listed {
  readonly server: string;
  readonly what: string;
  readonly revision: number;
  /** The newest acknowledged revision at the time of the request. */
  readonly atLeast: number;
  readonly objects: ReadonlyMap<string, Shown>;
}

export interface Told {
  readonly revision: number;
  readonly type: string;
  readonly key: string;
  readonly value: string;
}

/** One watch from its start to its end. */
export interface Session {
  readonly server: string;
  readonly from: number;
  readonly events: Told[];
  /** Every event up to this revision was delivered, according to events and bookmarks. */
  until: number;
}

/** The number of examples listed for each kind of problem. */
const SHOWN = 6;

/** Collects what all clients received, and checks that it is consistent. */
export class Account {
  readonly writes: Write[] = [];
  readonly lists: Listed[] = [];
  readonly sessions: Session[] = [];
  private readonly problems = new Map<string, string[]>();
  newest = 0;
  private readonly byKey = new Map<string, Write[]>();
  private readonly byRevision = new Map<number, Write>();

  /** `all`: the acknowledged write of each revision, for every type. */
  constructor(private readonly all: Map<number, Write>) {}

  wrote(write: Write): void {
    this.writes.push(write);
    const { key, revision } = write;
    const before = this.byKey.get(key);
    const last = before?.findLast((each) => (each.revision ?? 0) > 0)?.revision ?? 0;
    if (before === undefined) this.byKey.set(key, [write]);
    else before.push(write);
    if (revision === undefined || revision === 0) return;
    const other = this.all.get(revision);
    if (other !== undefined)
      this.problem(
        'revisions acknowledged twice',
        `revision ${revision} was acknowledged twice: ${brief(other)}, ${brief(write)}`,
      );
    this.byRevision.set(revision, write);
    this.all.set(revision, write);
    if (last >= revision) this.problem('writes not in order', `${brief(write)} is not newer than ${last}`);
    this.newest = Math.max(this.newest, revision);
  }

  problem(kind: string, text: string): void {
    const of = this.problems.get(kind);
    if (of === undefined) this.problems.set(kind, [text]);
    else of.push(text);
  }

  /** Lists the number of problems of each kind, with the first examples. */
  private reported(): string[] {
    return [...this.problems].flatMap(([kind, texts]) => [
      `${kind}: ${texts.length}`,
      ...texts.slice(0, SHOWN).map((text) => `  ${text}`),
    ]);
  }

  /** Checks all lists and watches against the acknowledged writes. Call it after all writers have ended. */
  check(): readonly string[] {
    for (const list of this.lists) this.checkList(list);
    const log = this.commonLog();
    for (const session of this.sessions) this.checkSession(session, log);
    for (const [revision, write] of this.byRevision) {
      const reported = log.get(revision);
      if (reported !== undefined && (reported.key !== write.key || reported.value !== write.value))
        this.problem(
          'writes reported otherwise',
          `${brief(write)}, but watches got ${reported.type} ${reported.key} ${reported.value}`,
        );
    }
    return this.reported();
  }

  private checkList(list: Listed): void {
    const where = `${list.what} at ${list.server}, revision ${list.revision}`;
    if (list.revision < list.atLeast)
      this.problem(
        `stale lists at ${list.server}`,
        `${where}: ${list.atLeast} was acknowledged before it was asked for`,
      );
    let missing = 0;
    let example = '';
    for (const [key, writes] of this.byKey) {
      const why = unlike(list, list.objects.get(key), writes);
      if (why === undefined) continue;
      missing++;
      example ||= why;
    }
    if (missing > 0)
      this.problem(`wrong lists at ${list.server}`, `${where}: ${missing} keys are wrong, such as: ${example}`);
  }

  /** Returns the events of all watches by revision. Watches must agree. */
  private commonLog(): Map<number, Told> {
    const log = new Map<number, Told>();
    for (const { server, events } of this.sessions) {
      for (const event of events) {
        const known = log.get(event.revision);
        if (known === undefined) log.set(event.revision, event);
        else if (known.key !== event.key || known.type !== event.type || known.value !== event.value)
          this.problem(
            'watches that differ',
            `${server} reported ${JSON.stringify(event)}, somebody else ${JSON.stringify(known)}`,
          );
      }
    }
    return log;
  }

  private checkSession(session: Session, log: ReadonlyMap<number, Told>): void {
    const { server, from, until, events } = session;
    let last = from;
    const reported = new Set<number>();
    for (const { revision } of events) {
      if (revision <= last)
        this.problem(
          `watches out of order at ${server}`,
          `a watch at ${server} from ${from} reported ${revision} after ${last}`,
        );
      last = revision;
      reported.add(revision);
    }
    const missed: number[] = [];
    for (const known of [log.keys(), this.byRevision.keys()])
      for (const revision of known)
        if (revision > from && revision <= until && !reported.has(revision)) missed.push(revision);
    if (missed.length > 0) {
      const some = [...new Set(missed)].sort((a, b) => a - b);
      this.problem(
        `watches that miss events at ${server}`,
        `a watch at ${server} from ${from} to ${until} missed ${some.length}: ${some.slice(0, 5).join(', ')}`,
      );
    }
  }
}

function brief({ verb, key, value, revision, server }: Write): string {
  return `${verb} ${key} ${value} at ${server} = ${String(revision)}`;
}

/** Returns why an object cannot have the listed state, or undefined if it can. */
function unlike(list: Listed, shown: Shown | undefined, writes: readonly Write[]): string | undefined {
  let last: Write | undefined;
  let open = false;
  let gone = false;
  for (const write of writes) {
    const { revision, before } = write;
    if (revision === undefined) open = true;
    else if (revision > list.revision) break;
    // The position of a deletion without a revision is anywhere after the previous write.
    else if (revision === 0 && (before === undefined || before > list.revision)) open = true;
    else if (revision === 0) gone = true;
    else last = write;
  }
  if (gone) return shown === undefined ? undefined : `shows ${shown.value}, which was deleted before ${list.revision}`;
  if (last === undefined) {
    const possible = shown === undefined || writes.some((write) => write.value === shown.value);
    return possible ? undefined : `${list.server} shows ${shown.value}, which nobody wrote`;
  }
  if (shown === undefined) return open ? undefined : `lacks ${brief(last)}`;
  if (shown.revision > list.revision) return `shows revision ${shown.revision}`;
  const known = writes.find((write) => write.value === shown.value);
  if (known === undefined) return `shows ${shown.value}, which nobody wrote`;
  if (shown.revision < (last.revision ?? 0)) return `shows ${shown.revision} instead of ${brief(last)}`;
  if (known.revision !== undefined && known.revision !== shown.revision)
    return `shows ${brief(known)} at ${shown.revision}`;
  return undefined;
}
