import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { readPieces } from '../../src/cli/convert/documents/documents.js';
import type { JsonObject } from '../../src/apimachinery/json/json.js';

const ROOT = join(__dirname, '../..');
const PROGRAM = join(ROOT, 'dist/main.js');

export const TOOLS = process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools');
export const MANIFESTS = join(ROOT, 'test/fixtures/manifests');
export const manifests = (): readonly string[] => readdirSync(MANIFESTS).map((name) => join(MANIFESTS, name));

export type Manifest = JsonObject & { apiVersion: string; kind: string };

export const documentsOf = (text: string): readonly Manifest[] =>
  readPieces(Buffer.from(text)).flatMap(({ value }) => (value === null ? [] : [value as Manifest]));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const ended = ({ status, stdout, stderr }: ReturnType<typeof spawnSync>): Ended => ({
  code: status,
  out: String(stdout),
  err: String(stderr),
});

/** Runs `annex convert` of the built program. */
export const convert = (args: readonly string[], input = ''): Ended =>
  ended(spawnSync(process.execPath, [PROGRAM, 'convert', ...args], { input, encoding: 'utf8' }));

/** Runs `kubectl annex convert`: kubectl finds its plugin on PATH. */
export function kubectlConvert(args: readonly string[]): Ended {
  const folder = mkdtempSync(join(tmpdir(), 'kubectl-annex-'));
  try {
    const plugin = join(folder, 'kubectl-annex');
    writeFileSync(plugin, `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`);
    chmodSync(plugin, 0o755);
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}` };
    return ended(spawnSync(join(TOOLS, 'kubectl'), ['annex', 'convert', ...args], { env, encoding: 'utf8' }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const textOf = (path: string): string => readFileSync(path, 'utf8');
