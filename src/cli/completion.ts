import { Argument, Command, type Option } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** `annex completion`: prints a script for a shell, generated from the commands and flags of the program. */
export function completionCommand(program: () => Command): Command {
  return new Command('completion')
    .description(
      'Prints the completion script for a shell: source it, or save it where the shell looks for completions.',
    )
    .addArgument(new Argument('<shell>', 'Shell to generate the script for.').choices(SHELLS))
    .helpOption('-h, --help', 'Shows this help.')
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program(), shell));
    });
}

/** Returns the script for a shell. Flags that take a value complete file names. */
export function completionScript(program: Command, shell: Shell): string {
  return { bash: forBash, zsh: forZsh, fish: forFish }[shell](program.name(), program.commands);
}

function forBash(name: string, commands: readonly Command[]): string {
  const cases = commands.map(
    (command) => `    ${command.name()}) words='${[...flagsOf(command), ...choicesOf(command)].join(' ')}' ;;\n`,
  );
  return `# bash completion of ${name}
_${name}() {
  local word=\${COMP_WORDS[COMP_CWORD]} words='${commands.map((command) => command.name()).join(' ')}'
  [ "$COMP_CWORD" -eq 1 ] || case \${COMP_WORDS[1]} in
${cases.join('')}    *) words='' ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _${name} ${name}
`;
}

function forZsh(name: string, commands: readonly Command[]): string {
  const described = commands.map(
    (command) => `    ${quoted(`${command.name()}:${firstSentence(command.description())}`)}\n`,
  );
  const cases = commands.map((command) => {
    const specs = command.options.map(zshSpec);
    const choices = choicesOf(command);
    specs.push(choices.length > 0 ? quoted(`1:argument:(${choices.join(' ')})`) : `'*:file:_files'`);
    return `    ${command.name()}) _arguments ${specs.join(' ')} ;;\n`;
  });
  return `#compdef ${name}
_${name}() {
  local -a commands=(
${described.join('')}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('')}  esac
}
if [ "$funcstack[1]" = _${name} ]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;
}

const zshSpec = (option: Option): string => {
  const text = firstSentence(option.description).replaceAll(/[[\]]/g, '');
  const value = takesValue(option) ? ':value:_files' : '';
  return quoted(`${option.long ?? ''}${takesValue(option) ? '=' : ''}[${text}]${value}`);
};

function forFish(name: string, commands: readonly Command[]): string {
  const lines = [`complete -c ${name} -n __fish_use_subcommand -f`];
  for (const command of commands) {
    const text = quoted(firstSentence(command.description()));
    lines.push(`complete -c ${name} -n __fish_use_subcommand -f -a ${command.name()} -d ${text}`);
    const within = `complete -c ${name} -n '__fish_seen_subcommand_from ${command.name()}'`;
    const choices = choicesOf(command);
    if (choices.length > 0) lines.push(`${within} -f -a '${choices.join(' ')}'`);
    for (const option of command.options) {
      const value = takesValue(option) ? ' -r' : '';
      lines.push(
        `${within} -l ${(option.long ?? '').slice(2)}${value} -d ${quoted(firstSentence(option.description))}`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

const flagsOf = (command: Command): string[] => command.options.flatMap(({ long }) => long ?? []);

const choicesOf = (command: Command): readonly string[] =>
  command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);

const takesValue = (option: Option): boolean => option.required || option.optional;

/** Descriptions of flags have several sentences, and some have lists. */
const firstSentence = (text: string): string => (/^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text).replaceAll(/\s+/g, ' ');

/** Quotes a text for any of the shells, which interpret a backslash differently. */
const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '’')}'`;
