import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { transformSync } from '@swc/core';

const ROOT = join(__dirname, '../..');

/** Compiles sources for a child process and returns the folder with the output. Tests that kill a process need one that is not their own. */
export function compileSources(name: string, folders: readonly string[]): string {
  const out = join(ROOT, '.cache', 'compiled', name);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'package.json'), '{"type":"module"}');
  symlinkSync(join(ROOT, 'node_modules'), join(out, 'node_modules'));
  for (const folder of folders) {
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const path = join(file.parentPath, file.name);
      if (file.isFile() && path.endsWith('.ts') && !path.endsWith('.test.ts') && path !== __filename)
        compile(path, out);
    }
  }
  return out;
}

function compile(path: string, out: string): void {
  const target = join(out, relative(ROOT, path)).replace(/\.ts$/, '.js');
  const { code } = transformSync(readFileSync(path, 'utf8'), {
    filename: path,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
  });
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, code);
}
