import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { plant } from '../../secrecy/leaks.js';
import { digText, Http1, treeOf } from '../client.js';
import { eventually, ROOT, scratchFolder, TestServer } from '../server.js';

const PLUGIN = join(process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools'), 'kms-plugin');
const SECRETS = '/api/v1/namespaces/default/secrets';
const VALUE = plant('planted-for-the-plugin-5d0c1f');

/** The plugin of Kubernetes' own tests, which uses Go's gRPC. */
class Plugin {
  private readonly child: ChildProcess;
  private readonly lines: AsyncIterator<string>;
  private readonly ended: Promise<number | null>;
  errors = '';

  constructor(socket: string) {
    this.child = spawn(PLUGIN, [socket], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stderr?.on('data', (text: Buffer) => (this.errors += text.toString()));
    this.lines = createInterface({ input: this.child.stdout ?? process.stdin })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => this.child.once('close', resolve));
  }

  /** Returns the next line of its output. */
  async line(): Promise<string> {
    return String((await this.lines.next()).value);
  }

  async command(what: 'fail' | 'recover' | 'rotate'): Promise<void> {
    this.child.stdin?.write(`${what}\n`);
    expect(await this.line()).toBe(what);
  }

  /** Returns the exit code: 0 if its clients did nothing wrong. */
  end(): Promise<number | null> {
    this.child.stdin?.end();
    return this.ended;
  }
}

const describeIfBuilt = existsSync(PLUGIN) ? describe : describe.skip;

describeIfBuilt('the KMS plugin of Kubernetes (skipped: without hack/tools/build.sh kms-plugin)', () => {
  let server: TestServer | undefined;
  let plugin: Plugin | undefined;
  let http: Http1;
  const folder = scratchFolder(async () => {
    await server?.stop('SIGKILL');
    await plugin?.end();
  });
  const socket = join(folder, 'kms.sock');
  const file = join(folder, 'encryption.json');

  const restart = async (): Promise<void> => {
    await server?.stop('SIGKILL');
    server = await TestServer.start(folder, ['--encryption-provider-config', file]);
    http = new Http1(server);
  };
  const create = async (name: string): Promise<number> =>
    (await http.post(SECRETS, { metadata: { name }, stringData: { value: VALUE } })).status;
  const valueOf = async (name: string): Promise<string> => {
    const answer = await http.get(`${SECRETS}/${name}`);
    return answer.status === 200
      ? Buffer.from(digText(treeOf(answer), 'data', 'value'), 'base64').toString()
      : digText(treeOf(answer), 'message');
  };
  /** Reports whether an update without changes is stored, because another key encrypted the object. */
  const writesAgain = async (name: string): Promise<boolean> => {
    const object = treeOf(await http.get(`${SECRETS}/${name}`));
    const put = treeOf(await http.send({ method: 'PUT', path: `${SECRETS}/${name}`, body: object }));
    return digText(put, 'metadata', 'resourceVersion') !== digText(object, 'metadata', 'resourceVersion');
  };

  test('encrypts, fails, recovers, and rotates its key', async () => {
    plugin = new Plugin(socket);
    expect(await plugin.line()).toBe('ready');
    const kms = { apiVersion: 'v2', name: 'kubernetes', endpoint: `unix://${socket}`, timeout: '3s' };
    const resources = [{ resources: ['secrets'], providers: [{ kms }, { identity: {} }] }];
    writeFileSync(
      file,
      JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources }),
    );
    await restart();
    expect([await create('first'), await valueOf('first')]).toEqual([201, VALUE]);
    const stored = readFileSync(join(folder, 'data/store/data.mdb'));
    expect(stored.includes('k8s:enc:kms:v2:kubernetes:')).toBe(true);
    for (const text of [VALUE, Buffer.from(VALUE).toString('base64').slice(0, -4)]) {
      expect(stored.includes(text)).toBe(false);
    }
    expect((await http.get('/readyz/kms-providers')).status).toBe(200);

    await plugin.command('fail');
    await restart();
    const check = await http.get('/healthz/kms-providers');
    expect([check.status, check.text]).toEqual([500, expect.stringContaining('failed precondition - key disabled')]);
    expect(await valueOf('first')).toContain('got unexpected nil transformer');
    expect(await create('refused')).toBe(500);
    await plugin.command('recover');
    await eventually('it is read again', async () => ((await valueOf('first')) === VALUE ? true : undefined));
    expect(await writesAgain('first')).toBe(false);

    await plugin.command('rotate');
    await restart();
    expect(await valueOf('first')).toBe(VALUE);
    expect([await writesAgain('first'), await writesAgain('first')]).toEqual([true, false]);
    expect([await valueOf('first'), await create('second'), await valueOf('second')]).toEqual([VALUE, 201, VALUE]);

    await server?.stop('SIGKILL');
    expect([await plugin.end(), plugin.errors.includes('wanted localhost authority')]).toEqual([0, false]);
  });

  test('under load, nothing that was acknowledged is lost or stored in clear while the plugin fails and its key rotates', async () => {
    await server?.stop('SIGKILL');
    const again = new Plugin(socket);
    plugin = again;
    expect(await again.line()).toBe('ready');
    await restart();
    const acknowledged: string[] = [];
    const refused: number[] = [];
    const writing = { over: false, count: 0 };
    const value = (name: string): string => `${VALUE}-${name}`;
    const write = async (): Promise<void> => {
      while (!writing.over) {
        const name = `load-${writing.count++}`;
        try {
          const body = { metadata: { name }, stringData: { value: value(name) } };
          const { status } = await http.post(SECRETS, body);
          if (status === 201) acknowledged.push(name);
          else refused.push(status);
        } catch {
          // The server was killed, so the write was not acknowledged.
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    };
    const writers = Array.from({ length: 4 }, write);
    const more = async (what: string): Promise<void> => {
      const before = acknowledged.length;
      await eventually(what, () => Promise.resolve(acknowledged.length >= before + 20 ? true : undefined));
    };
    try {
      await more('writes with the first key');
      // A failing plugin does not stop writes at once: the seed is there.
      await again.command('fail');
      await more('writes while the plugin fails');
      await restart();
      await eventually('writes are refused', () => Promise.resolve(refused.length >= 20 ? true : undefined));
      await again.command('rotate');
      await again.command('recover');
      await more('writes with the second key');
      await again.command('rotate');
      await restart();
      await more('writes with the third key');
    } finally {
      writing.over = true;
      await Promise.all(writers);
    }
    expect(new Set(refused)).toEqual(new Set([500]));
    await restart();
    const { items } = treeOf(await http.get(SECRETS)) as { items: { metadata: { name: string }; data?: JsonObject }[] };
    const stored = new Map(items.map(({ metadata, data }) => [metadata.name, digText(data, 'value')]));
    for (const name of acknowledged) expect(stored.get(name)).toBe(Buffer.from(value(name)).toString('base64'));
    const bytes = readFileSync(join(folder, 'data/store/data.mdb'));
    for (const text of [VALUE, Buffer.from(VALUE).toString('base64').slice(0, -4)]) {
      expect(bytes.includes(text)).toBe(false);
    }
    await server?.stop('SIGKILL');
    expect(await again.end()).toBe(0);
  });
});
