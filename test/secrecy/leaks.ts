import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of a test run, created by global-setup.ts: the logs of servers and commands, and the secrets that the tests planted. */
export const FOLDER_VARIABLE = 'ANNEX_TEST_LOGS';
const PLANTED = 'planted';

const folder = (): string | undefined => process.env[FOLDER_VARIABLE];

/** Registers a secret that must never appear in a log. Returns it. */
export function plant(secret: string): string {
  const at = folder();
  if (at !== undefined) appendFileSync(join(at, PLANTED), `${JSON.stringify(secret)}\n`);
  return secret;
}

let logs = 0;

/** Keeps what a process logged until the end of the run. */
export function keepLog(name: string, text: string): void {
  const at = folder();
  if (at === undefined || text === '') return;
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, `${name}-${process.pid}-${logs++}.log`), text);
}

/** Patterns of secrets that are recognizable without being planted. */
const LOOKS: readonly (readonly [string, RegExp])[] = [
  ['a signed token', /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}/],
  ['a bootstrap token', /\b(?=[a-z]*\d)[a-z0-9]{6}\.(?=[a-z]*\d)[a-z0-9]{16}\b/],
  ['a bearer token', /\bbearer (?=\S*\d)[\w.~+/=-]{8,}/i],
  ['a password in an address', /\b[a-z][a-z+]*:\/\/[^\s/:@"]*:(?!\*\*\*@)[^\s/@"]+@/],
  ['a private key', /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/],
  ['a private key in base64', /LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFW|BFQyBQUklWQVRFI|BSU0EgUFJJVkFUR)/],
];

export interface Leak {
  readonly what: string;
  readonly line: number;
}

/** Returns the leaks in a text. Planted secrets are also searched for in base64 and hexadecimal. */
export function leaksOf(text: string, planted: readonly string[]): Leak[] {
  const forms = planted.flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -1),
    Buffer.from(secret).toString('hex'),
  ]);
  return text.split('\n').flatMap((content, index) => {
    const line = index + 1;
    const looks = LOOKS.filter(([, pattern]) => pattern.test(content)).map(([what]) => ({ what, line }));
    return forms.some((form) => content.includes(form)) ? [...looks, { what: 'a planted secret', line }] : looks;
  });
}

/** Returns all leaks of a run. */
export function leaksIn(path: string): string[] {
  const files = readdirSync(path);
  const planted = files.includes(PLANTED)
    ? readFileSync(join(path, PLANTED), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as string)
    : [];
  const distinct = [...new Set(planted)];
  return files
    .filter((file) => file !== PLANTED)
    .flatMap((file) =>
      leaksOf(readFileSync(join(path, file), 'utf8'), distinct).map(
        ({ what, line }) => `${join(path, file)}:${line}: ${what}`,
      ),
    );
}

/** Runs after all tests: fails the run if a log contains a secret, and then keeps the logs. */
export default function teardown(): void {
  const { [FOLDER_VARIABLE]: folder } = process.env;
  if (folder === undefined) return;
  const leaks = leaksIn(folder);
  if (leaks.length > 0) throw new Error(`secrets in the logs of the tests:\n${leaks.join('\n')}`);
  rmSync(folder, { recursive: true });
}
