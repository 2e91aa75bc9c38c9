import { messageOf } from '../../util/error-message.js';
import { Command, CommanderError, Option } from 'commander';
import { CURRENT_MINOR, effectiveVersion } from '../../util/effective-version.js';
import { aggregateTexts } from '../../authorization/authorizer/results.js';
import { fromAdmissionControl } from '../../admission/plugin-names.js';
import { RuntimeConfig } from '../../registry/generic/store/runtime-config.js';
import { featureGates } from '../../util/feature-gates.js';
import { isAggregated } from './aggregation-options.js';
import { enabledControllers } from './controller-names.js';
import { type Flag, FlagError, parseFlag } from './flags.js';
import { defaultOptions, FLAGS, type Options, validateOptions } from './options.js';

const entries = Object.entries(FLAGS) as [keyof typeof FLAGS, Flag<unknown>][];
const byName = new Map(entries.map(([key, flag]) => [flag.name, { key, flag }]));

/** Normalizes arguments as pflag reads them: `_` in names is `-`, a boolean takes its value only after `=`, and `-v=4` or `-v4` set the verbosity. */
export function normalizeArguments(args: readonly string[]): string[] {
  return args.flatMap((arg) => {
    const verbosity = /^--?v(?:=(.*)|(\d+))?$/s.exec(arg);
    if (verbosity !== null) {
      const value = verbosity[1] ?? verbosity[2];
      return value === undefined ? ['--v'] : [`--v=${value}`];
    }
    const named = /^--([^=]+)(=.*)?$/s.exec(arg);
    if (named === null) return [arg];
    const name = (named[1] ?? '').replaceAll('_', '-');
    if (named[2] === undefined && byName.get(name)?.flag.kind.placeholder === '') return [`--${name}=true`];
    return [`--${name}${named[2] ?? ''}`];
  });
}

function optionOf(flag: Flag<unknown>): Option {
  const { kind, name } = flag;
  const syntax =
    name === 'v' ? '-v, --v <int>' : kind.placeholder === '' ? `--${name} <bool>` : `--${name} <${kind.placeholder}>`;
  const shown = kind.show(flag.default);
  return new Option(syntax, shown === undefined ? flag.help : `${flag.help} (default ${shown})`)
    .helpGroup(flag.group)
    .argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
}

/** Returns the command `annex serve`. `run` receives validated options; its errors reach the caller. */
export const serveCommand = (run: (options: Options) => Promise<void>): Command =>
  commandOfFlags('serve', 'Serves the Kubernetes API.', run);

type DoctorFormat = 'text' | 'json';

export interface DoctorFlags {
  readonly output: DoctorFormat;
  /** Kubeconfig of a running standalone server; if empty, that of the data directory. */
  readonly serverKubeconfig: string;
  /** Also reads the whole embedded store. */
  readonly verifyStore?: boolean;
}

/** Returns the command `annex doctor`, with the flags of `annex serve` and its own. */
export function doctorCommand(run: (options: Options, flags: DoctorFlags) => Promise<void>): Command {
  const what =
    'Checks what a server with the same flags needs from its store, and from the cluster that it extends; for a standalone server, checks the server itself.';
  const command = commandOfFlags('doctor', what, (options) => {
    const flags = command.opts<DoctorFlags>();
    if (isAggregated(options) && flags.serverKubeconfig !== '')
      throw new FlagError(
        '--server-kubeconfig is for standalone servers, --kubeconfig for servers that extend a cluster',
      );
    return run(options, flags);
  });
  const output = (syntax: string, text: string): Option => new Option(syntax, text).helpGroup('Output flags:');
  const format = output('-o, --output <format>', 'Format of the findings. The exit code is 1 if a check has failed.');
  const kubeconfig = output(
    '--server-kubeconfig <file>',
    'Kubeconfig of a running standalone server. Defaults to admin.kubeconfig in --data-dir.',
  );
  const verify = output(
    '--verify-store',
    'Also verifies the checksum of every record in the embedded store, and lists the damaged objects.',
  );
  return command
    .addOption(format.choices(['text', 'json']).default('text'))
    .addOption(kubeconfig.default(''))
    .addOption(verify);
}

export function commandOfFlags(name: string, description: string, run: (options: Options) => Promise<void>): Command {
  const command = new Command(name)
    .description(description)
    .allowExcessArguments(false)
    .helpOption('-h, --help', 'Shows this help.');
  for (const [, flag] of entries) command.addOption(optionOf(flag));
  return command.action(async () => {
    await run(parseOptions(command.opts()));
  });
}

/** Parses the texts that the command line has for each flag. Throws FlagError. */
export function parseOptions(given: Readonly<Record<string, unknown>>): Options {
  const values: Record<string, unknown> = { ...defaultOptions() };
  const set = new Set<string>();
  for (const [key, flag] of entries) {
    const texts = given[camel(flag.name)];
    if (!Array.isArray(texts)) continue;
    values[key] = parseFlag(flag, texts.map(String));
    set.add(flag.name);
  }
  const options = { ...defaultOptions(), ...values, given: set };
  validateOptions(options);
  setVersions(options);
  unnamed(() => new RuntimeConfig(options.runtimeConfig));
  named('feature-gates', () => featureGates.set(options.featureGates.join(',')));
  if (options.authenticationConfig !== '' && !featureGates.enabled('StructuredAuthenticationConfiguration')) {
    throw new FlagError(
      'set --feature-gates=StructuredAuthenticationConfiguration=true to use authentication-config file',
    );
  }
  named('controllers', () => enabledControllers(options.controllers));
  return set.has('admission-control') ? { ...options, ...fromAdmissionControl(options.admissionControl) } : options;
}

function setVersions(options: Options): void {
  unnamed(() => effectiveVersion.set(options.emulatedVersion, options.minCompatibilityVersion));
  featureGates.emulate(effectiveVersion);
  if (effectiveVersion.emulation !== CURRENT_MINOR) return;
  const { emulationForwardCompatible, runtimeConfigEmulationForwardCompatible } = options;
  const refused = Object.entries({ emulationForwardCompatible, runtimeConfigEmulationForwardCompatible })
    .filter(([, isSet]) => isSet)
    .map(
      ([name]) =>
        `ServerRunOptions.${name.charAt(0).toUpperCase()}${name.slice(1)} cannot be set to true if the emulation version is the same as the binary version`,
    );
  if (refused.length > 0) throw new FlagError(aggregateTexts(refused));
}

/** Runs a check whose messages, as in kube-apiserver, do not name the flag. */
function unnamed(check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw new FlagError(messageOf(error));
  }
}

function named(name: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw new FlagError(`invalid argument for --${name}: ${messageOf(error)}`);
  }
}

const camel = (name: string): string => name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const SHOWN = new Set(['commander.helpDisplayed', 'commander.help', 'commander.version']);

/** Returns one line for the user, and the exit code. */
export function describeFailure(error: unknown): { message: string; code: number } {
  if (error instanceof CommanderError) {
    const next = error.code === 'commander.unknownOption' ? '; --help lists them' : '';
    return {
      // Help and version have already been printed.
      message: SHOWN.has(error.code) ? '' : `${error.message.replaceAll('\n', ' ')}${next}`,
      code: error.exitCode,
    };
  }
  return { message: messageOf(error), code: 1 };
}
