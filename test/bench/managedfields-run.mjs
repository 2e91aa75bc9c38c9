// Runs a TypeScript bench without a build:  node test/bench/managedfields-run.mjs test/bench/managedfields.bench.ts
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

const hooks = `
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transformSync } from ${JSON.stringify(import.meta.resolve('@swc/core'))};
export async function resolve(specifier, context, next) {
  if (/^\\.{1,2}\\/.*\\.js$/.test(specifier) && context.parentURL?.endsWith('.ts')) {
    const url = new URL(specifier.replace(/\\.js$/, '.ts'), context.parentURL);
    if (existsSync(fileURLToPath(url))) return { url: url.href, shortCircuit: true };
  }
  return next(specifier, context);
}
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const source = readFileSync(fileURLToPath(url), 'utf8');
  const { code } = transformSync(source, { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } });
  return { format: 'module', source: code, shortCircuit: true };
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
await import(pathToFileURL(process.argv[2]).href);
