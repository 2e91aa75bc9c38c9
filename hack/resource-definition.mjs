#!/usr/bin/env node
// Turns CustomResourceDefinitions (apiextensions.k8s.io/v1) into ResourceDefinitions, on standard output:
//   node hack/resource-definition.mjs crd.yaml… > definitions.yaml      (- is standard input)
// Omits what a server set in them, and documents of other kinds, which it names on standard error.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { parseAllDocuments, stringify } = await importYaml();

const KEPT_METADATA = ['name', 'labels', 'annotations'];
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

function fail(message) {
  process.stderr.write(`resource-definition: ${message}\n`);
  process.exit(1);
}

/** In a fresh checkout, the packages are installed first, as `make` does. */
async function importYaml() {
  try {
    return await import('yaml');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  }
  const root = join(dirname(fileURLToPath(import.meta.url)), '..');
  const args = ['-s', '--no-print-directory', '-C', root, 'node_modules/.installed'];
  const { status } = spawnSync('make', args, { stdio: ['ignore', 2, 2] });
  if (status !== 0) fail('the packages of this checkout are not installed: run npm ci in it');
  return import('yaml');
}

function documentsOf(file) {
  let text;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    fail(`cannot read ${file}: ${error.message}`);
  }
  return parseAllDocuments(text, { intAsBigInt: true }).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) fail(`${file}: ${error.message}`);
    const value = document.toJS({ maxAliasCount: 1000 });
    if (value === null || value === undefined) return [];
    if (typeof value !== 'object' || Array.isArray(value)) fail(`${file}: a document is no object`);
    return typeof value.kind === 'string' && value.kind.endsWith('List') && Array.isArray(value.items)
      ? value.items
      : [value];
  });
}

function metadataOf(metadata) {
  const entries = KEPT_METADATA.filter((key) => metadata[key] !== undefined && metadata[key] !== null).map((key) => {
    if (key !== 'annotations') return [key, metadata[key]];
    return [key, Object.fromEntries(Object.entries(metadata[key]).filter(([name]) => name !== LAST_APPLIED))];
  });
  return Object.fromEntries(entries.filter(([, value]) => typeof value !== 'object' || Object.keys(value).length > 0));
}

function definition(file, crd) {
  const name = crd.metadata?.name;
  if (crd.apiVersion !== 'apiextensions.k8s.io/v1') {
    fail(
      `${file}: ${name} is of ${crd.apiVersion}; only apiextensions.k8s.io/v1 can be turned into a ResourceDefinition`,
    );
  }
  if (typeof name !== 'string' || typeof crd.spec !== 'object' || crd.spec === null) {
    fail(`${file}: a CustomResourceDefinition has no name or no spec`);
  }
  return {
    apiVersion: 'kubeannex.io/v1',
    kind: 'ResourceDefinition',
    metadata: metadataOf(crd.metadata),
    spec: crd.spec,
  };
}

const files = process.argv.slice(2);
if (files.length === 0) fail('name the files with CustomResourceDefinitions, or - for standard input');
const definitions = files.flatMap((file) =>
  documentsOf(file).flatMap((object) => {
    if (object?.kind === 'CustomResourceDefinition') return [definition(file, object)];
    process.stderr.write(`resource-definition: ${file}: left out ${object?.kind}/${object?.metadata?.name}\n`);
    return [];
  }),
);
if (definitions.length === 0) fail(`there is no CustomResourceDefinition in ${files.join(', ')}`);
process.stdout.write(
  definitions.map((value) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n'),
);
