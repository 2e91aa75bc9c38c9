import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import type { ParamAccess } from '../../src/registry/builtin/admissionregistration/shared/param-access.js';
import type { EscalationDependencies } from '../../src/registry/builtin/rbac/escalation.js';
import { builtinKinds } from '../../src/registry/kinds.js';

const COMMITTED = 'src/apimachinery/generated';
const committed = Object.fromEntries(
  readdirSync(COMMITTED).map((name) => [name, readFileSync(join(COMMITTED, name), 'utf8')]),
);

test('the committed declarations are what hack/declarations.mjs makes of data/', () => {
  const folder = mkdtempSync(join(tmpdir(), 'annex-declarations-'));
  try {
    execFileSync(process.execPath, ['hack/declarations.mjs', folder]);
    const made = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
    expect(Object.fromEntries(made)).toEqual(committed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

// The compiler skips declaration files otherwise, and a name that is missing there would be any.
test('the declarations have no errors', () => {
  const program = ts.createProgram(
    Object.keys(committed).map((name) => join(COMMITTED, name)),
    { strict: true, noEmit: true, types: [], module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023 },
  );
  const errors = Object.keys(committed).flatMap((name) => {
    const file = program.getSourceFile(join(COMMITTED, name));
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  });
  expect(errors.map(({ messageText }) => messageText)).toEqual([]);
});

test.each(builtinKinds({} as EscalationDependencies, {} as ParamAccess).map(({ group, kind }) => [group, kind]))(
  '%s %s is declared',
  (group, kind) => {
    const text = committed[`${group.split('.')[0] || 'core'}.d.ts`];
    expect(text).toMatch(new RegExp(`^export interface ${kind} extends KubeObject \\{$`, 'm'));
  },
);
