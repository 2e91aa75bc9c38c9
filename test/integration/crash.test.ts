import { dig, digList, digText, Http1, treeOf } from './client.js';
import { configMap, namespace } from './objects.js';
import { eventually, scratchFolder, TestServer } from './server.js';

const ROUNDS = 6;
const WRITERS = 16;

/** The value of `pending` if no write was in flight. */
const NONE = Symbol('none');

interface Expected {
  /** The value of the newest acknowledged write, or undefined if that was a deletion. */
  readonly acknowledged: string | undefined;
  /** The write that was in flight when the server died. It may or may not have been committed. */
  pending: string | undefined | typeof NONE;
}

/** Creates, replaces, and deletes a few objects one after another, and records what was acknowledged for each. */
class Writer {
  readonly objects = new Map<string, Expected>();
  acknowledged = 0;
  private turn = 0;

  constructor(private readonly id: number) {}

  async work(http: Http1, base: string): Promise<number> {
    for (let done = 0; ; done++, this.acknowledged++) {
      const name = `w${this.id}-${this.turn % 5}`;
      const value = `${this.id}/${this.turn++}`;
      const before = this.objects.get(name)?.acknowledged;
      const remove = before !== undefined && this.turn % 7 === 0;
      const wanted = remove ? undefined : value;
      this.objects.set(name, { acknowledged: before, pending: wanted });
      try {
        const { status, text } = remove
          ? await http.send({ method: 'DELETE', path: `${base}/${name}` })
          : before === undefined
            ? await http.post(base, configMap(name, { value }))
            : await http.send({ method: 'PUT', path: `${base}/${name}`, body: configMap(name, { value }) });
        if (status !== 200 && status !== 201) throw new Error(`${status} ${text}`);
      } catch (error) {
        if (error instanceof Error && /^\d{3} /.test(error.message)) throw error;
        return done;
      }
      this.objects.set(name, { acknowledged: wanted, pending: NONE });
    }
  }

  /** Compares the record with the objects on the server, and continues from those. */
  check(found: ReadonlyMap<string, string>): void {
    for (const [name, { acknowledged, pending }] of this.objects) {
      const value = found.get(name);
      if (value !== acknowledged && (pending === NONE || value !== pending)) {
        throw new Error(
          `${name}: acknowledged ${String(acknowledged)}, pending ${String(pending)}, found ${String(value)}`,
        );
      }
      this.objects.set(name, { acknowledged: value, pending: NONE });
    }
  }
}

const acknowledgedBy = (writers: readonly Writer[]): number => writers.reduce((sum, one) => sum + one.acknowledged, 0);

const folder = scratchFolder();

test('after kill -9 during writes, every acknowledged write exists and no write is partial', async () => {
  const writers = Array.from({ length: WRITERS }, (_, id) => new Writer(id));
  const base = '/api/v1/namespaces/crash/configmaps';
  let total = 0;
  let newest = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const server = await TestServer.start(folder);
    const http = new Http1(server, WRITERS);
    if (round === 0) expect((await http.post('/api/v1/namespaces', namespace('crash'))).status).toBe(201);
    const list = treeOf(await http.get(base));
    const found = new Map(
      digList(list, 'items').map((item) => [digText(item, 'metadata', 'name'), digText(item, 'data', 'value')]),
    );
    for (const writer of writers) writer.check(found);
    const revision = Number(dig(list, 'metadata', 'resourceVersion'));
    expect(revision).toBeGreaterThanOrEqual(newest);
    newest = revision;
    if (round === ROUNDS) {
      await server.stop();
      break;
    }
    const before = acknowledgedBy(writers);
    const acknowledged = (): number => acknowledgedBy(writers) - before;
    const work = writers.map((writer) => writer.work(http, base));
    await eventually('enough is written', () => Promise.resolve(acknowledged() > WRITERS ? true : undefined));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 600));
    await server.stop('SIGKILL');
    for (const done of await Promise.all(work)) total += done;
  }
  expect(total).toBeGreaterThan(ROUNDS * WRITERS);
});
