import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import type { Clock } from '../../util/clock.js';
import { Progress } from '../progress.js';
import type { ConvertOptions } from './run.js';
import { collect } from '../collect.js';

const HELP = `
Converts documents of API versions that Kubernetes no longer serves to the versions that replaced them, and keeps their
meaning: it writes out defaults of the old version that the new one does not share. Documents that need no conversion are left
unchanged, byte for byte; in converted documents, a comment is kept if the field that it belongs to remains. Custom resources
are converted with their CustomResourceDefinitions, unless these use a conversion webhook.

A document that cannot be converted without loss is refused with the reason: it is left unchanged in its file (--write) and
omitted from standard output. The other documents are converted.

In folders, files that are not Kubernetes objects (values.yaml, docker-compose.yml) are left alone; -v names them. A file that
is named on the command line must consist of Kubernetes objects.

Exit codes: 0 if every document was converted or needed no conversion (with --check: if no removed version is used); 1 if a
document was refused or could not be read (with --check: if a removed version is used).

Examples:
  annex convert ingress.yaml                           prints the converted documents
  annex convert --write -R manifests/                  converts the files in a folder in place
  kubectl annex convert - -o json < old.yaml           reads standard input, prints JSON
  annex convert --check --target-version 1.32 .        reports what an upgrade to 1.32 would break
  annex convert --definitions crds/ --output-version stable.example.com/v1 widgets.yaml`;

type Given = Omit<ConvertOptions, 'paths'> & { readonly filename?: readonly string[] };

/** `annex convert`: converts stored manifests to served versions. */
export function convertCommand(clock: Pick<Clock, 'monotonic'>): Command {
  return new Command('convert')
    .description('Converts manifests to API versions that Kubernetes serves, or reports the use of removed versions.')
    .argument('[paths...]', 'Files, folders (their .yaml, .yml and .json files), or - for standard input.')
    .option('-f, --filename <path>', 'The same as an argument. May be given several times.', collect)
    .option('-R, --recursive', 'Includes subfolders.')
    .addOption(
      new Option('-o, --output <format>', 'Format of standard output. Defaults to the format of the input.').choices([
        'yaml',
        'json',
      ]),
    )
    .option('--write', 'Changes the files in place instead of printing the converted documents.')
    .option('--output-version <version>', 'Converts only to this group and version, for example networking.k8s.io/v1.')
    .option('--check', 'Reports each use of a deprecated or removed version, and changes nothing.')
    .option('--target-version <release>', 'Kubernetes release to check for, for example 1.32. (default 1.37)')
    .option(
      '--definitions <path>',
      'File or folder with definitions of custom resources. May be given several times.',
      collect,
    )
    .option('-v, --verbose', 'Names the documents in folders that are not Kubernetes objects.')
    .option('--allow-loss', 'Drops fields that the new version does not have, with a warning.')
    .helpOption('-h, --help', 'Shows this help.')
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], { filename = [], ...options }: Given) => {
      const { runConvert } = await import('./run.js');
      const progress = new Progress(clock, process.stderr);
      process.exitCode = runConvert(
        { ...options, paths: [...paths, ...filename] },
        {
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
        },
      );
      progress.clear();
    });
}
