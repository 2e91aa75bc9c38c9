import { Random } from '../model/random.js';
import { pause } from '../storage/mongod.js';
import { Account, type Listed, type Write } from './account.js';
import { holdLease, Informer, LEASES, listNow, NAMESPACE, readLists, Writer, type Target } from './clients.js';
import type { Pair, Replica } from './replicas.js';
import { type Kind, schedule, suffer } from './schedule.js';

export const WINDOW_SECONDS = 10;

const WRITERS = 3;
const READERS = 3;
/** The time limit for both servers to write again after a fault. */
const RECOVERY_MILLIS = 30_000;
const CONVERGENCE_MILLIS = 60_000;
const CALM_MILLIS = 1_500;

export interface Campaign {
  readonly pair: Pair;
  readonly seed: number;
  readonly millis: number;
  /** The servers that receive writes. The others only receive reads. */
  readonly writers: readonly Replica[];
  /** The kinds of faults. */
  readonly kinds: readonly Kind[];
  readonly report: (line: string) => void;
}

/** Runs clients at both servers, and faults, for this long. Returns the inconsistencies in what the clients received. */
export async function campaign(options: Campaign): Promise<readonly string[]> {
  const { pair, seed, millis, writers, kinds, report } = options;
  const acknowledged = new Map<number, Write>();
  const maps = new Account(acknowledged);
  const leases = new Account(pair.oneLog ? acknowledged : new Map<number, Write>());
  const random = new Random(seed);
  const stopping = new AbortController();
  const watching = new AbortController();
  await pair.direct.client.send({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE.split('/').at(-1) } },
  });
  const informers = pair.replicas.flatMap((target) => [new Informer(target, maps), new Informer(target, maps)]);
  const watches = informers.map((informer) => informer.run(watching.signal));
  const work = [
    ...writers.flatMap((target) => [
      ...Array.from({ length: WRITERS }, () => new Writer(target, maps, random).run(stopping.signal)),
      holdLease(target, leases, stopping.signal),
    ]),
    ...pair.replicas.flatMap((target) =>
      Array.from({ length: READERS }, () => readLists(target, maps, stopping.signal)),
    ),
  ];
  const end = performance.now() + millis;
  const faults = schedule(kinds, new Random(seed), WINDOW_SECONDS * 1_000);
  do {
    const fault = faults.next().value;
    await pause(CALM_MILLIS);
    report(`${fault.name} for ${fault.millis} ms, at revision ${maps.newest}`);
    await suffer(pair, fault);
    await recovered(writers, maps, fault.name);
  } while (performance.now() < end);
  stopping.abort();
  await Promise.all(work);
  await converge(pair, maps, informers);
  for (const target of pair.replicas) {
    const list = await listNow(target, leases, 'the last list of leases', LEASES);
    if (list === undefined) leases.problem('no answer', `${target.name} lists no leases`);
    else leases.lists.push(list);
  }
  watching.abort();
  await Promise.all(watches);
  report(
    `${maps.writes.length} writes, ${acknowledged.size} acknowledged revisions, ${maps.lists.length} lists, ${maps.sessions.length} watches`,
  );
  return [...maps.check(), ...leases.check()];
}

/** Waits until both servers acknowledge a write that starts after the fault. */
async function recovered(writers: readonly Replica[], account: Account, after: string): Promise<void> {
  const begun = performance.now();
  await Promise.all(
    writers.map(async (target: Target) => {
      const writer = new Writer(target, account, new Random(1));
      const reported: string[] = [];
      while (!(await writer.writeOnce())) {
        reported.push(writer.reported);
        if (performance.now() - begun > RECOVERY_MILLIS) {
          account.problem(
            'no recovery',
            `${target.name} does not write again within ${RECOVERY_MILLIS / 1000} s after: ${after}; ${reported.slice(-3).join('; ')}`,
          );
          return;
        }
        await pause(200);
      }
    }),
  );
}

/** After writes end, checks that all lists and informers converge. */
async function converge(pair: Pair, account: Account, informers: readonly Informer[]): Promise<void> {
  const lists: Listed[] = [];
  for (const target of pair.replicas) {
    let list = await listNow(target, account, 'the last list');
    for (let attempt = 0; list === undefined && attempt < 60; attempt++) {
      await pause(500);
      list = await listNow(target, account, 'the last list');
    }
    if (list === undefined) account.problem('no answer', `${target.name} answers no list at the end`);
    else lists.push(list);
  }
  account.lists.push(...lists);
  const [first] = lists;
  if (first === undefined) return;
  const expected = text(first.objects);
  for (const list of lists)
    if (text(list.objects) !== expected)
      account.problem(
        'servers that differ at the end',
        `${list.server} ends with other objects: ${difference(first, list)}`,
      );
  const end = performance.now() + CONVERGENCE_MILLIS;
  for (const informer of informers) {
    while (text(informer.objects) !== expected && performance.now() < end) await pause(100);
    if (text(informer.objects) === expected) continue;
    const { size } = informer.objects;
    account.problem(
      'informers that stay wrong',
      `an informer at ${informer.server} stays wrong: ${size} objects instead of ${first.objects.size}`,
    );
  }
}

function text(objects: Listed['objects']): string {
  return [...objects]
    .map(([key, { revision, value }]) => `${key} ${revision} ${value}`)
    .sort()
    .join('\n');
}

function difference(a: Listed, b: Listed): string {
  const lacks = (one: Listed, other: Listed): string[] =>
    [...one.objects.keys()].filter((key) => !other.objects.has(key));
  return `${a.objects.size} and ${b.objects.size}; ${lacks(a, b).slice(0, 5).join(', ')} / ${lacks(b, a).slice(0, 5).join(', ')}`;
}
