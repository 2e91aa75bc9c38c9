// A server for a single benchmark, on an empty store, with one connection to it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = dirname(fileURLToPath(import.meta.url));
/** The output of `make build`. */
export const DIST = join(here, '../../dist/main.js');
export const pause = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

export class BenchServer {
  /**
   * `monitor` is a module that the server imports first, and that answers messages. `keep` is the number of bytes of each response that are
   * kept as text.
   */
  constructor({ dist = DIST, port, flags = [], node = [], monitor, keep = 0 }) {
    this.port = Number(port);
    this.dist = dist;
    this.keep = keep;
    this.scratch = mkdtempSync(join(tmpdir(), 'annex-bench-'));
    const tokens = join(this.scratch, 'tokens.csv');
    writeFileSync(tokens, 'secret,admin,admin,system:masters\n');
    const serve = ['serve', '--data-dir', join(this.scratch, 'data'), '--secure-port', String(port)];
    const imports = monitor === undefined ? [] : ['--import', join(here, monitor)];
    this.command = [
      ...node,
      ...imports,
      dist,
      ...serve,
      '--bind-address=127.0.0.1',
      '--token-auth-file',
      tokens,
      ...flags,
    ];
    this.stdio = ['ignore', 'ignore', 'inherit', ...(monitor === undefined ? [] : ['ipc'])];
  }

  /** Starts the server, initially or again. Resolves when it is ready. */
  async start() {
    this.child = spawn(process.execPath, this.command, { stdio: this.stdio });
    for (;;) {
      // Another program may answer on the port.
      if (this.child.exitCode !== null) throw new Error('the server did not start');
      try {
        this.session = connect(`https://127.0.0.1:${this.port}`, {
          rejectUnauthorized: false,
          settings: { initialWindowSize: 16 << 20 },
          // Responses may carry a hundred warnings.
          maxHeaderListPairs: 1000,
        });
        await new Promise((resolve, reject) => this.session.once('connect', resolve).once('error', reject));
        this.session.on('error', () => undefined);
        this.session.setLocalWindowSize(64 << 20);
        if ((await this.request('GET', '/readyz')).status === 200) return this;
      } catch {
        // The server is not ready yet.
      }
      await pause(100);
    }
  }

  /** Sends a request. A watch with initial events is closed when they end. */
  request(method, path, body, headers = {}) {
    return new Promise((resolve) => {
      const stream = this.session.request({
        ':method': method,
        ':path': path,
        authorization: 'Bearer secret',
        ...headers,
      });
      let status = 0;
      let bytes = 0;
      const kept = [];
      stream.on('response', (head) => (status = head[':status']));
      stream.on('data', (chunk) => {
        if (bytes < this.keep) kept.push(chunk.subarray(0, this.keep - bytes));
        bytes += chunk.length;
        if (path.includes('sendInitialEvents') && chunk.includes('initial-events-end')) stream.close();
      });
      const done = () => resolve({ status, bytes, text: Buffer.concat(kept).toString() });
      stream.on('close', done);
      stream.on('error', done);
      stream.end(body);
    });
  }

  /** Sends a message to the monitor and resolves with its answer. */
  ask(question) {
    return new Promise((resolve) => {
      this.child.once('message', resolve);
      this.child.send(question);
    });
  }

  /** Returns the CPU time of all threads so far, in milliseconds. The kernel counts in clock ticks, 100 per second. */
  cpuMillis() {
    const fields = readFileSync(`/proc/${String(this.child.pid)}/stat`, 'utf8')
      .split(') ')[1]
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  async stop() {
    this.session?.destroy();
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await new Promise((resolve) => child.once('exit', resolve));
  }

  /** Kills the process with SIGKILL. */
  async kill() {
    this.session?.destroy();
    this.child.kill('SIGKILL');
    await new Promise((resolve) => this.child.once('exit', resolve));
  }

  /** Stops the server and removes its files. */
  async dispose() {
    await this.stop();
    rmSync(this.scratch, { recursive: true, force: true });
  }
}
