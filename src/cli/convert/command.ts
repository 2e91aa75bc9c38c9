import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import type { Clock } from '../../util/clock.js';
import { Progress } from '../progress.js';
import type { ConvertOptions } from './run.js';

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

const HELP = `
Documents of versions that Kubernetes no longer serves become documents of the version that replaced theirs, with the same
meaning: what the old version took for granted and the new one does not is written out. Documents that need no conversion stay
as they are, byte for byte; in those that change, comments are kept where their place is left. Custom resources are converted
by their CustomResourceDefinitions, if those name no webhook.

A document that cannot be converted without loss is refused with the reason: it stays as it was in its file (--write) and is
left out of standard output. The rest is converted.

Exit codes: 0, everything is done (or, with --check, nothing is used that was removed); 1, something was refused or could not
be read (or, with --check, something is used that was removed).

Examples:
  annex convert ingress.yaml                           prints what became of the file
  annex convert --write -R manifests/                  converts the files of a folder in place
  kubectl annex convert - -o json < old.yaml           reads standard input, prints JSON
  annex convert --check --target-version 1.32 .        reports what an upgrade to 1.32 would break
  annex convert --definitions crds/ --output-version stable.example.com/v1 widgets.yaml`;

interface Given {
  readonly filename?: readonly string[];
  readonly recursive?: true;
  readonly output?: 'json' | 'yaml';
  readonly write?: true;
  readonly outputVersion?: string;
  readonly check?: true;
  readonly targetVersion?: string;
  readonly definitions?: readonly string[];
  readonly allowLoss?: true;
}

/** `annex convert`: converts stored manifests to served versions. */
export function convertCommand(clock: Pick<Clock, 'monotonic'>): Command {
  return new Command('convert')
    .description('Converts manifests to API versions that Kubernetes serves, or reports which versions are removed.')
    .argument('[paths...]', 'Files, folders (their .yaml, .yml and .json files), or - for standard input.')
    .option('-f, --filename <path>', 'The same as an argument. May be given several times.', collect)
    .option('-R, --recursive', 'Folders within folders, too.')
    .addOption(
      new Option('-o, --output <format>', 'Format of standard output. Without it the format that is read.').choices([
        'yaml',
        'json',
      ]),
    )
    .option('--write', 'Changes the files instead of printing what becomes of them.')
    .option('--output-version <version>', 'Converts to this group and version only, networking.k8s.io/v1 for instance.')
    .option('--check', 'Reports each use of a deprecated or removed version, and changes nothing.')
    .option('--target-version <release>', 'Release of Kubernetes to check for, 1.32 for instance. (default 1.36)')
    .option(
      '--definitions <path>',
      'File or folder with definitions of custom resources. May be given several times.',
      collect,
    )
    .option('--allow-loss', 'Leaves out, with a warning, fields that the new version has no place for.')
    .helpOption('-h, --help', 'Shows this help.')
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], given: Given) => {
      const { runConvert } = await import('./run.js');
      const progress = new Progress(clock, process.stderr);
      process.exitCode = runConvert(optionsOf(paths, given), {
        progress,
        readStandardInput: () => readFileSync(0),
        out: (text) => {
          progress.clear();
          process.stdout.write(text);
        },
        err: (line) => {
          progress.clear();
          process.stderr.write(`${line}\n`);
        },
      });
      progress.clear();
    });
}

const optionsOf = (paths: readonly string[], given: Given): ConvertOptions => ({
  paths: [...paths, ...(given.filename ?? [])],
  recursive: given.recursive === true,
  output: given.output,
  write: given.write === true,
  outputVersion: given.outputVersion,
  check: given.check === true,
  targetVersion: given.targetVersion,
  definitions: given.definitions ?? [],
  allowLoss: given.allowLoss === true,
});
