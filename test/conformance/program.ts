import { spawn } from 'node:child_process';
import { ROOT, scratchFolder, TestServer } from '../integration/server.js';

const LIMIT_MILLIS = 120_000;

interface Program {
  /** What runs it, or why nothing can. */
  readonly command: { readonly path: string } | { readonly missing: string };
  readonly program: string;
  /** What it prints, after `ok `, as each of its parts has passed. */
  readonly parts: readonly string[];
  /** Its arguments after the kubeconfig. */
  readonly more?: (server: TestServer, folder: string) => readonly string[];
}

/** Describes a client in a program of its own, which gets the kubeconfig of a fresh server; skipped, with the reason, where it cannot run. */
export function describeProgram(name: string, { command, program, parts, more }: Program): void {
  if ('missing' in command) {
    describe.skip(`${name} (skipped: ${command.missing})`, () => {
      test.each(parts)('%s', () => undefined);
    });
    return;
  }
  describe(name, () => {
    let server: TestServer | undefined;
    const folder = scratchFolder(async () => server?.stop('SIGKILL'));
    let printed = '';
    beforeAll(async () => {
      server = await TestServer.start(folder);
      printed = await output(command.path, [program, server.kubeconfig, ...(more?.(server, folder) ?? [])]);
    });

    test.each(parts)('%s', (part) => {
      expect(printed).toContain(`ok ${part}\n`);
    });
  });
}

/** What a program printed until it ended, whatever its exit code. */
function output(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], timeout: LIMIT_MILLIS });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    child.on('error', reject);
    child.on('close', () => {
      resolve(text);
    });
  });
}
