import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ParamAccess } from '../../src/registry/builtin/admissionregistration/shared/param-access.js';
import type { EscalationDependencies } from '../../src/registry/builtin/rbac/escalation.js';
import { builtinKinds } from '../../src/registry/kinds.js';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => [name, readFileSync(join('src', name), 'utf8')] as const);

describe('a built-in kind is one folder and one line', () => {
  const table = readFileSync('src/registry/kinds.ts', 'utf8');
  const folders = [...table.matchAll(/'\.\/(builtin\/[^/]+\/[^/]+)\/type\.js'/g)].map(([, folder]) => folder ?? '');

  test('each folder with a type is in the table', () => {
    const all = sources.flatMap(([name]) => /^registry\/(builtin\/[^/]+\/[^/]+)\/type\.ts$/.exec(name)?.[1] ?? []);
    expect(all.filter((folder) => !folder.endsWith('/shared')).sort()).toEqual(folders.sort());
  });

  test('each type has one line', () => {
    const [, lists = ''] = table.split('const OFFLOADABLE');
    for (const { kind, resource } of builtinKinds({} as EscalationDependencies, {} as ParamAccess)) {
      const lines = lists.match(new RegExp(`^  ${resource}(V1)?,$`, 'gim')) ?? [];
      expect([kind, lines.length]).toEqual([kind, resource === 'events' ? 2 : 1]);
    }
  });

  test('nothing but the table imports a type', () => {
    const importing = sources.filter(([, text]) => folders.some((folder) => text.includes(`${folder}/type.js'`)));
    expect(importing.map(([name]) => name)).toEqual(['registry/kinds.ts']);
  });
});

const contributing = readFileSync('CONTRIBUTING.md', 'utf8');

/** The source files that contain a text. */
const filesWith = (text: string): string[] =>
  sources.filter(([, source]) => source.includes(text)).map(([name]) => `src/${name}`);

describe('the examples of the recipes are in the files that the recipes name', () => {
  test.each<[string, string, string, readonly string[]]>([
    [
      'metric',
      '`annex_compiled_pattern_instructions`',
      "'annex_compiled_pattern_instructions'",
      ['src/server/metrics/process-metrics.ts'],
    ],
    [
      'flag',
      '`http2-max-streams-per-connection`',
      "'http2-max-streams-per-connection'",
      ['src/server/options/options.ts'],
    ],
    [
      'filter',
      '`src/endpoints/filters/deadline.ts`',
      'withDeadline',
      ['src/endpoints/filters/chain.ts', 'src/endpoints/filters/deadline.ts'],
    ],
  ])('a %s', (_name, example, text, files) => {
    expect(contributing).toContain(example);
    for (const file of files) expect(contributing).toContain(file);
    expect(filesWith(text).sort()).toEqual(files);
  });
});

test('the paths that the recipes name exist', () => {
  const [, recipes = ''] = contributing.split('## Recipes');
  // `<name>` stands for a name to choose: the folder before it exists.
  const named = [...recipes.matchAll(/`((?:src|test|hack)\/[^`<]+)[`<]/g)].map(([, path]) => path ?? '');
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
