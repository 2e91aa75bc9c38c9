import { spawnSync } from 'node:child_process';
import { Argument, Command } from 'commander';
import { completionScript } from './completion.js';

const program = new Command('annex')
  .addCommand(
    new Command('serve')
      .description('Serves. More text.')
      .option('--data-dir <string>', "The server's folder: [a-z]. More.")
      .option('--dry-run', 'Does nothing.'),
  )
  .addCommand(
    new Command('completion').description('Prints.').addArgument(new Argument('<shell>').choices(['bash', 'zsh'])),
  );

/** Returns the completions of bash for the words, the last of which is being typed. */
function offered(...words: string[]): string[] {
  const script = `${completionScript(program, 'bash')}
COMP_WORDS=(annex "$@"); COMP_CWORD=$#; _annex; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

test('bash completes commands, flags and arguments', () => {
  expect(offered('')).toEqual(['serve', 'completion']);
  expect(offered('se')).toEqual(['serve']);
  expect(offered('serve', '--d')).toEqual(['--data-dir', '--dry-run']);
  expect(offered('completion', 'z')).toEqual(['zsh']);
  expect(offered('nothing', '')).toEqual([]);
});

test('zsh and fish show the first sentence of each description', () => {
  const zsh = completionScript(program, 'zsh');
  expect(zsh).toContain("'serve:Serves.'");
  expect(zsh).toContain("'--data-dir=[The server’s folder: a-z.]:value:_files' '--dry-run[Does nothing.]'");
  expect(zsh).toContain("'1:argument:(bash zsh)'");
  const fish = completionScript(program, 'fish');
  expect(fish).toContain(
    "complete -c annex -n '__fish_seen_subcommand_from serve' -l data-dir -r -d 'The server’s folder: [a-z].'",
  );
  expect(fish).toContain("-l dry-run -d 'Does nothing.'");
});
