import { type KeyPem, newKey, StartError } from '../../../src/server/certificates/data-directory.js';
import { KEY_NAMES, type KeyName } from '../../../src/server/certificates/keys/rules.js';
import { fingerprintOf, type Keys, SharedKeys } from '../../../src/server/certificates/keys/shared-keys.js';
import { Secretbox } from '../../../src/storage/encryption/ciphers.js';
import {
  ENCRYPTED_PREFIX,
  identity,
  PrefixTransformers,
  type Transformer,
} from '../../../src/storage/encryption/transformer.js';
import { SHARED_KEYS } from '../../../src/storage/encryption/never-encrypted.js';
import { StorageError } from '../../../src/storage/errors.js';
import type { StoreBackend, WriteRequest, WriteResult } from '../../../src/storage/interfaces.js';
import { MemoryBackend } from '../../fakes/storage/memory-backend.js';
import { FakeClock } from '../../fakes/util/clock.js';
import type { Explorer } from '../schedules.js';
import type { Random } from '../random.js';

const NOW = Date.UTC(2026, 0, 1);
const clock = new FakeClock(NOW);

/** Keys are costly to make: the schedules take them from here. None is given out twice in a schedule. */
const POOL: Readonly<Record<KeyName, readonly KeyPem[]>> = {
  'serving-ca': Array.from({ length: 40 }, () => newKey('serving-ca', NOW)),
  'client-ca': Array.from({ length: 40 }, () => newKey('client-ca', NOW)),
  // As good as RSA here, and a hundred times as fast.
  'service-account': Array.from({ length: 40 }, () => ({ key: newKey('client-ca', NOW).key, cert: '' })),
};

/** The stages of a rotation: which keys of the encryption a server has, the first of which it writes with. `-` is identity. */
const RINGS: readonly (readonly string[])[] = [['1'], ['1', '2'], ['2', '1'], ['2'], ['2', '-'], ['-', '2']];

const cipher = (key: string): Secretbox => new Secretbox(Buffer.alloc(32, key));

const ringOf = (keys: readonly string[]): Transformer =>
  new PrefixTransformers(
    keys.map((key) =>
      key === '-'
        ? { prefix: '', transformer: identity }
        : { prefix: `${ENCRYPTED_PREFIX}secretbox:v1:${key}:`, transformer: cipher(key) },
    ),
    'no matching key',
  );

type Way = 'nothing' | 'files' | 'encryption';

/** A server of the model, with what a restart finds again. */
class Server {
  readonly directory = new Map<KeyName, KeyPem[]>();
  /** The stage of the rotation that its configuration has. */
  stage = 0;
  /** Counts the starts: what an earlier life still does has no effect. */
  life = 0;
  state: 'stopped' | 'starting' | 'serving' | 'refused' = 'stopped';
  keys: Keys | undefined;

  constructor(
    readonly name: string,
    public way: Way,
  ) {}
}

/** Servers on one store that start, stop at any step, and start again, while the operator changes their configuration. */
export class World implements Explorer {
  readonly trace: string[] = [];
  private readonly backend = new MemoryBackend({ clock });
  private readonly servers: readonly Server[];
  private readonly taken = new Map<KeyName, number>();
  private readonly files: Readonly<Record<KeyName, KeyPem>>;
  /** The steps that servers wait for. */
  private waiting: { readonly server: Server; readonly life: number; readonly go: () => void }[] = [];
  private stage = 0;
  /** The fingerprints of the keys with which servers without files have served. */
  private readonly served = new Map<KeyName, Set<string>>();
  private failure: Error | undefined;

  constructor(private readonly random: Random) {
    this.files = {
      'serving-ca': this.make('serving-ca'),
      'client-ca': this.make('client-ca'),
      'service-account': this.make('service-account'),
    };
    const ways: readonly (readonly [number, Way])[] = random.chance(0.5)
      ? [
          [1, 'nothing'],
          [4, 'encryption'],
        ]
      : [
          [3, 'nothing'],
          [2, 'encryption'],
          [1, 'files'],
        ];
    this.servers = ['a', 'b', 'c'].map((name) => new Server(name, random.weighted(ways)));
  }

  async run(steps: number): Promise<void> {
    await this.backend.open();
    for (let step = 0; step < steps; step++) {
      await this.step();
      await this.check();
    }
    await this.settle();
    await this.backend.close();
  }

  /** The states in which the servers ended. */
  get end(): string {
    return this.servers.map(({ way, state }) => `${way} ${state}`).join(', ');
  }

  private async step(): Promise<void> {
    const { random } = this;
    const server = random.pick(this.servers);
    const act = random.weighted([
      [12, 'go' as const],
      [3, 'start' as const],
      [2, 'kill' as const],
      [1, 'configure' as const],
    ]);
    if (act === 'go') await this.advance();
    else if (act === 'start' && server.state !== 'serving' && server.state !== 'starting') this.start(server);
    else if (act === 'kill') this.kill(server);
    else if (act === 'configure') this.configure(server);
  }

  /** Lets one of the waiting servers take one step. */
  private async advance(): Promise<void> {
    const chosen = this.waiting[this.random.below(Math.max(this.waiting.length, 1))];
    if (chosen === undefined) return;
    this.waiting = this.waiting.filter((each) => each !== chosen);
    chosen.go();
    await settled();
  }

  private kill(server: Server): void {
    if (server.state === 'stopped') return;
    this.trace.push(`${server.name} is killed while ${server.state}`);
    server.life++;
    server.state = 'stopped';
    server.keys = undefined;
    this.waiting = this.waiting.filter((each) => each.server !== server);
  }

  /** The operator begins to encrypt, or moves a server to the next stage of the rotation: no stage begins before all have reached the last one. */
  private configure(server: Server): void {
    this.kill(server);
    const encrypting = this.servers.filter(({ way }) => way === 'encryption');
    if (server.way === 'nothing' && this.random.once(3)) {
      server.way = 'encryption';
      server.stage = this.stage;
    } else if (server.stage < this.stage) server.stage = this.stage;
    else if (
      encrypting.every(({ stage, state }) => stage === this.stage && state === 'serving') &&
      this.stage < RINGS.length - 1
    )
      this.stage++;
    this.trace.push(`${server.name}: ${server.way}, stage ${server.stage} of ${this.stage}`);
  }

  private start(server: Server): void {
    const life = ++server.life;
    server.state = 'starting';
    this.trace.push(`${server.name} starts with ${server.way}`);
    void this.live(server, life).catch((error: unknown) => {
      if (server.life !== life) return;
      if (error instanceof StartError) {
        server.state = 'refused';
        this.trace.push(`${server.name} is refused`);
        if (server.way === 'files') this.fail(`${server.name} has files and was refused`);
      } else this.fail(String(error));
    });
  }

  /** What startup does: it tries again while the store does not answer. */
  private async live(server: Server, life: number): Promise<void> {
    const shared = new SharedKeys({
      backend: this.storeFor(server, life),
      directory: this.directoryOf(server, life),
      files: server.way === 'files' ? this.files : {},
      transformer: () => (server.way === 'encryption' ? ringOf(RINGS[server.stage] ?? []) : undefined),
      clock,
      host: server.name,
      make: (name) => this.make(name),
    });
    for (;;) {
      try {
        const keys = await shared.open();
        if (server.life !== life) return;
        server.keys = keys;
        server.state = 'serving';
        this.trace.push(`${server.name} serves, ${KEY_NAMES.map((name) => keys[name].home).join(' ')}`);
        if (server.way !== 'files') this.note(keys);
        return;
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
      }
    }
  }

  private note(keys: Keys): void {
    for (const name of KEY_NAMES) {
      const all = this.served.get(name) ?? new Set<string>();
      this.served.set(name, all.add(fingerprintOf(keys[name])));
      if (all.size > 1) this.fail(`servers without files have served with ${all.size} keys ${name}`);
    }
  }

  /** The store as a server sees it: each request waits for its turn, before it has an effect and before it is answered. */
  private storeFor(server: Server, life: number): StoreBackend {
    return {
      get: async (resource, key) => {
        await this.turn(server, life);
        return this.backend.get(resource, key);
      },
      write: async (request: WriteRequest): Promise<WriteResult> => {
        await this.turn(server, life);
        const result = await this.backend.write(request);
        this.trace.push(`${server.name} writes: ${result.outcome}`);
        await this.turn(server, life);
        if (this.random.once(6)) throw new StorageError('unknown-outcome', 'the connection broke');
        return result;
      },
    };
  }

  private directoryOf(server: Server, life: number) {
    return {
      path: `/${server.name}`,
      keysOf: (name: KeyName) => server.directory.get(name) ?? [],
      create: (name: KeyName) => {
        const made = this.make(name);
        // The process is gone, and so is what it would have written.
        if (server.life === life) server.directory.set(name, [made]);
        return made;
      },
    };
  }

  private turn(server: Server, life: number): Promise<void> {
    return new Promise((go) => {
      if (server.life === life) this.waiting.push({ server, life, go });
    });
  }

  private make(name: KeyName): KeyPem {
    const next = this.taken.get(name) ?? 0;
    this.taken.set(name, next + 1);
    const made = POOL[name][next];
    if (made === undefined) throw new Error(`the schedule needs more keys ${name}`);
    return made;
  }

  private fail(what: string): void {
    this.failure ??= new Error(what);
  }

  private async check(): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    const stored = await this.backend.get(SHARED_KEYS, 'keys');
    if (stored !== undefined) {
      const text = Buffer.from(stored.bytes).toString('latin1');
      const inside = [...text.matchAll(/"sealed":"([^"]*)"/g)].map(([, sealed = '']) =>
        Buffer.from(sealed, 'base64').toString('latin1'),
      );
      if ([text, ...inside].some((each) => each.includes('PRIVATE KEY'))) throw new Error('a key is in clear');
    }
  }

  /** At the end nobody is killed: whoever encrypts serves if the keys are in the store, and the others can be told why not. */
  private async settle(): Promise<void> {
    // Twice: one may have to move its keys into the store before others can start.
    for (const server of [...this.servers, ...this.servers]) {
      this.kill(server);
      server.stage = this.stage;
      this.start(server);
      for (let turns = 0; server.state === 'starting'; turns++) {
        if (turns > 200) throw new Error(`${server.name} does not come to an end`);
        await settled();
        await this.advance();
      }
      await this.check();
    }
    const inStore = this.servers.some(({ keys }) => KEY_NAMES.every((name) => keys?.[name].home === 'store'));
    const refused = this.servers.find(({ way, state }) => way === 'encryption' && state === 'refused');
    if (inStore && refused !== undefined) throw new Error(`${refused.name} encrypts and was refused`);
  }
}

/** Resolves when nothing is left to do but what waits for its turn. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
