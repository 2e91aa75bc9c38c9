import { spawn } from 'node:child_process';
import { ROOT, scratchFolder, TestServer } from '../integration/server.js';

const LIMIT_MILLIS = 120_000;

interface Program {
  /** The program that runs it, or the reason why none can. */
  readonly command: { readonly path: string } | { readonly missing: string };
  readonly program: string;
  /** The lines that it prints, after `ok `, one for each part that passed. */
  readonly parts: readonly string[];
  /** Its arguments after the kubeconfig. */
  readonly more?: (server: TestServer, folder: string) => readonly string[];
}

/** Describes a client that runs as a program with the kubeconfig of a fresh server; skipped, with the reason, if it cannot run. */
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

/** Returns the output of a program until it exits, regardless of its exit code. */
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
