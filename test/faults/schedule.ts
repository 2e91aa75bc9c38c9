import type { Random } from '../model/random.js';
import { type Mongod, pause } from '../storage/mongod.js';
import type { Pair, Replica } from './replicas.js';

/** A fault that lasts for a while, and how it ends. */
export interface Fault {
  readonly name: string;
  readonly millis: number;
  begin(pair: Pair): Promise<void> | void;
  end(pair: Pair): Promise<void> | void;
}

export type Kind = Omit<Fault, 'millis'>;

/** The time from the start of a link fault to the kill during it, so that requests and responses are in flight, held back, or lost. */
const BEFORE_KILL_MILLIS = 700;

const heal = ({ proxy }: Pair): void => {
  proxy.pass();
};

const link = (name: string, begin: (pair: Pair) => void): Kind => ({ name, begin, end: heal });

function stopped(name: string, which: (pair: Pair) => Replica): Kind {
  return {
    name: `SIGSTOP of the ${name} server`,
    begin: (pair) => {
      which(pair).signal('SIGSTOP');
    },
    end: (pair) => {
      which(pair).signal('SIGCONT');
    },
  };
}

function killed(name: string, which: (pair: Pair) => Replica): Kind {
  return {
    name: `kill -9 of the ${name} server`,
    begin: (pair) => which(pair).kill(),
    end: (pair) => which(pair).start(),
  };
}

/** Kills a process during another fault and restarts it when that is over. */
function killedDuring(trouble: Kind, victim: 'proxied' | 'direct' | 'mongod'): Kind {
  return {
    name: `${trouble.name}, and kill -9 of ${victim === 'mongod' ? victim : `the ${victim} server`} in it`,
    begin: async (pair) => {
      await trouble.begin(pair);
      await pause(BEFORE_KILL_MILLIS);
      if (victim === 'mongod') await pair.mongod.kill('SIGKILL');
      else await pair[victim].kill();
    },
    end: async (pair) => {
      if (victim === 'mongod') await pair.mongod.launch();
      await trouble.end(pair);
      if (victim !== 'mongod') await pair[victim].start();
    },
  };
}

/** Faults of the link between the proxied server and MongoDB. */
export const LINK_FAULTS: readonly Kind[] = [
  link('connections cut', ({ proxy }) => {
    proxy.cut();
  }),
  link('packets swallowed', ({ proxy }) => {
    proxy.swallow();
  }),
  link('answers held back', ({ proxy }) => {
    proxy.swallow('answers');
  }),
  link('answers lost', ({ proxy }) => {
    proxy.loseAnswers();
  }),
  link('answers late by 3 s', ({ proxy }) => {
    proxy.delay(3_000, 'answers');
  }),
  link('requests late by 700 ms', ({ proxy }) => {
    proxy.delay(700, 'requests');
  }),
];

export const ALL_FAULTS: readonly Kind[] = [
  ...LINK_FAULTS,
  stopped('proxied', (pair) => pair.proxied),
  stopped('direct', (pair) => pair.direct),
  killed('proxied', (pair) => pair.proxied),
  killed('direct', (pair) => pair.direct),
  ...LINK_FAULTS.flatMap((trouble) => [
    killedDuring(trouble, 'proxied'),
    killedDuring(trouble, 'direct'),
    killedDuring(trouble, 'mongod'),
  ]),
  {
    name: 'kill -9 of mongod',
    begin: ({ mongod }) => mongod.kill('SIGKILL'),
    end: ({ mongod }) => mongod.launch(),
  },
  {
    name: 'an election',
    begin: ({ set }) => set.stepDown(),
    end: () => undefined,
  },
  {
    name: 'SIGSTOP of mongod',
    begin: ({ mongod }) => {
      mongod.freeze();
    },
    end: ({ mongod }) => {
      mongod.thaw();
    },
  },
];

/** Faults of a replica set with several members, which both servers reach directly. */
export const SET_FAULTS: readonly Kind[] = [
  {
    name: 'an election',
    begin: ({ set }) => set.stepDown(),
    end: () => undefined,
  },
  whilePrimaryIs(
    'killed',
    (member) => member.kill('SIGKILL'),
    (member) => member.launch(),
  ),
  whilePrimaryIs(
    'stopped',
    (member) => {
      member.freeze();
    },
    (member) => {
      member.thaw();
    },
  ),
  stopped('proxied', (pair) => pair.proxied),
  killed('direct', (pair) => pair.direct),
];

/** The other members elect a new primary. The old one returns without knowing it. */
function whilePrimaryIs(
  what: string,
  begin: (member: Mongod) => Promise<void> | void,
  end: (member: Mongod) => Promise<void> | void,
): Kind {
  let primary: Mongod | undefined;
  return {
    name: `the primary is ${what}`,
    begin: async ({ set }) => {
      primary = await set.primary();
      await begin(primary);
    },
    end: async () => {
      if (primary !== undefined) await end(primary);
    },
  };
}

/** All kinds of faults, repeatedly in random order, shorter and longer than the history window. */
export function* schedule(
  kinds: readonly Kind[],
  random: Random,
  windowMillis: number,
): Generator<Fault, never, undefined> {
  for (;;) {
    const order = kinds.map((kind) => ({ kind, rank: random.next() })).sort((a, b) => a.rank - b.rank);
    for (const { kind } of order) {
      const millis = random.chance(0.5)
        ? windowMillis * (0.2 + random.next() * 0.3)
        : windowMillis * (1.4 + random.next());
      yield { ...kind, millis: Math.round(millis) };
    }
  }
}

export async function suffer(pair: Pair, fault: Fault): Promise<void> {
  await fault.begin(pair);
  try {
    await pause(fault.millis);
  } finally {
    await fault.end(pair);
  }
}
