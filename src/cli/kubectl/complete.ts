import type { Command, Option } from 'commander';
import { objectAt, objectsOf, textAt } from '../../apimachinery/json/json.js';
import { ClusterClient } from '../../client/cluster-client.js';
import type { Clock } from '../../util/clock.js';
import { type ConfigFlags, namesIn, targetOf } from './config.js';
import { Discovery, fullName, pathOf, type Resource } from './discovery.js';
import { Fields } from './fields.js';
import { METADATA } from './listing.js';

/** What the shell does after a completion, by Cobra's protocol. */
const NO_SPACE = 2;
const NO_FILES = 4;

interface Completions {
  readonly words: readonly string[];
  readonly directive: number;
}

const closed = (words: readonly string[]): Completions => ({ words, directive: NO_FILES });
const open = (words: readonly string[]): Completions => ({ words, directive: NO_SPACE | NO_FILES });
const FILES: Completions = { words: [], directive: 0 };

const MAX_NAMES = 500;
const FORMATS = [
  'json',
  'yaml',
  'name',
  'wide',
  'jsonpath=',
  'jsonpath-as-json=',
  'jsonpath-file=',
  'custom-columns=',
  'custom-columns-file=',
];
const FILE_FLAGS = ['kubeconfig', 'certificate-authority', 'client-certificate', 'client-key'];

/** A server, as far as completion asks it. */
export interface Source {
  readonly namespace: string;
  readonly client: Pick<ClusterClient, 'exchange'>;
}

/**
 * Completes the last word of a command line by Cobra's protocol: a line for each word, then a directive. `connect` returns the server that the
 * flags choose. Whatever fails completes nothing.
 */
export async function complete(
  commands: readonly Command[],
  words: readonly string[],
  connect: (flags: ConfigFlags) => Source,
): Promise<string> {
  const { words: found, directive } = await completions(commands, words, connect).catch(() => closed([]));
  return [...found, `:${String(directive)}`].map((line) => `${line}\n`).join('');
}

/** `kubectl annex __complete WORDS…`, which shells call. */
export async function completeCommand(
  commands: readonly Command[],
  words: readonly string[],
  clock: Clock,
): Promise<void> {
  let client: ClusterClient | undefined;
  const connect = (flags: ConfigFlags): Source => {
    const { remote, namespace } = targetOf(flags);
    client = ClusterClient.of(remote, clock);
    return { client, namespace };
  };
  process.stdout.write(await complete(commands, words, connect));
  client?.close();
}

async function completions(
  commands: readonly Command[],
  words: readonly string[],
  connect: (flags: ConfigFlags) => Source,
): Promise<Completions> {
  const last = words.at(-1) ?? '';
  const command = commands.find((one) => one.name() === words[0]);
  if (words.length < 2)
    return closed(commands.map((one) => `${one.name()}\t${one.description()}`).filter((word) => word.startsWith(last)));
  if (command === undefined) return FILES;
  const line = read(command, words.slice(1, -1));
  const given = /^--([\w-]+)=(.*)$/s.exec(last);
  const option = given ? optionOf(command, `--${given[1] ?? ''}`) : line.pending;
  const ask = new Asking(line, given?.[2] ?? last, () => connect(line.flags));
  if (option !== undefined) return ask.value(option);
  if (last.startsWith('-')) return closed(flagsOf(command).filter((flag) => flag.startsWith(last)));
  return ask.argument();
}

/** What a command line says before the word that is completed. */
interface Line {
  readonly flags: ConfigFlags & { readonly allNamespaces?: boolean };
  readonly values: ReadonlyMap<string, string>;
  readonly args: readonly string[];
  /** The flag whose value is completed. */
  readonly pending: Option | undefined;
}

function read(command: Command, words: readonly string[]): Line {
  const values = new Map<string, string>();
  const args: string[] = [];
  let pending: Option | undefined;
  for (const word of words) {
    if (pending !== undefined) {
      values.set(pending.attributeName(), word);
      pending = undefined;
    } else if (word.startsWith('-') && word !== '-') {
      const equals = word.indexOf('=');
      const option = optionOf(command, equals < 0 ? word : word.slice(0, equals));
      if (option === undefined) continue;
      if (equals >= 0) values.set(option.attributeName(), word.slice(equals + 1));
      else if (option.required) pending = option;
      else values.set(option.attributeName(), 'true');
    } else args.push(word);
  }
  return { flags: Object.fromEntries(values), values, args, pending };
}

const optionOf = (command: Command, flag: string): Option | undefined =>
  command.options.find(({ long, short }) => long === flag || short === flag);

const flagsOf = (command: Command): string[] =>
  command.options.flatMap(({ long, description }) =>
    long == null ? [] : [`${long}\t${description.split('. ')[0] ?? ''}`],
  );

/** Completes one word of a command line. */
class Asking {
  private source: Source | undefined;
  private found: Promise<Discovery> | undefined;

  constructor(
    private readonly line: Line,
    private readonly word: string,
    private readonly connect: () => Source,
  ) {}

  async value(option: Option): Promise<Completions> {
    const name = option.long?.replace(/^--/, '') ?? '';
    if (option.argChoices !== undefined) return closed(this.beginning(option.argChoices));
    if (FILE_FLAGS.includes(name)) return FILES;
    const { kubeconfig } = this.line.flags;
    switch (name) {
      case 'namespace':
        return closed(this.beginning(await this.names('/api/v1/namespaces')));
      case 'context':
        return closed(this.beginning(namesIn(kubeconfig, 'contexts')));
      case 'cluster':
        return closed(this.beginning(namesIn(kubeconfig, 'clusters')));
      case 'user':
        return closed(this.beginning(namesIn(kubeconfig, 'users')));
      case 'output': {
        const formats = this.beginning(FORMATS);
        return formats.some((format) => format.endsWith('=')) ? open(formats) : closed(formats);
      }
      case 'where':
      case 'order-by':
        return open(await this.expression(name === 'where' && this.line.values.get('watch') !== 'true'));
      case 'sort-by':
        return open(await this.path());
      default:
        return closed([]);
    }
  }

  /** Completes a type, TYPE/NAME, or the name of an object. */
  async argument(): Promise<Completions> {
    const [type] = this.line.args;
    const slash = this.word.indexOf('/');
    if (slash >= 0) {
      const prefix = this.word.slice(0, slash);
      const names = await this.namesOf(prefix);
      return closed(this.beginning(names.map((name) => `${prefix}/${name}`)));
    }
    if (type !== undefined) return type.includes('/') ? closed([]) : closed(this.beginning(await this.namesOf(type)));
    const comma = this.word.lastIndexOf(',') + 1;
    const before = this.word.slice(0, comma);
    const types = (await this.discovery()).withVerb('list').map((resource) => before + fullName(resource));
    return closed(this.beginning(types));
  }

  private beginning(words: readonly string[]): string[] {
    return words.filter((word) => word.startsWith(this.word));
  }

  /** Completes the path of fields at the end of an expression. */
  private async expression(hasNow: boolean): Promise<string[]> {
    const { word } = this;
    const begun = /\w*$/.exec(word)?.[0] ?? '';
    const before = word.slice(0, word.length - begun.length);
    const dotted = /\.\??$/.exec(before);
    if (dotted === null) {
      if (/[)\]'"]$/.test(before)) return [];
      return ['object', ...(hasNow ? ['now'] : [])]
        .filter((name) => name.startsWith(begun))
        .map((name) => before + name);
    }
    const fields = await this.fields();
    const below = fields?.below(before.slice(0, dotted.index)) ?? [];
    return below.filter(({ name }) => name.startsWith(begun)).map(({ name }) => before + name);
  }

  /** Completes a path of `--sort-by`. */
  private async path(): Promise<string[]> {
    const { word } = this;
    const dot = word.lastIndexOf('.');
    const before = dot < 0 ? '.' : word.slice(0, dot + 1);
    const begun = dot < 0 ? word : word.slice(dot + 1);
    const fields = await this.fields();
    const below = fields?.below(`object${before.slice(0, -1).replace(/^\{/, '')}`) ?? [];
    return below.filter(({ name }) => name.startsWith(begun)).map(({ name }) => before + name);
  }

  private async fields(): Promise<Fields | undefined> {
    const [type = ''] = this.line.args;
    const [first = ''] = type.split(/[,/]/);
    const resource = first === '' ? undefined : (await this.discovery()).resource(first);
    return resource && Fields.load(this.server().client, resource);
  }

  private async namesOf(type: string): Promise<readonly string[]> {
    const [first = '', ...more] = type.split(',');
    if (more.length > 0) return [];
    const resource: Resource = (await this.discovery()).resource(first);
    const everywhere = this.line.values.get('allNamespaces') === 'true';
    return this.names(pathOf(resource, everywhere ? undefined : this.server().namespace));
  }

  private async names(path: string): Promise<readonly string[]> {
    const request = { method: 'GET', path: `${path}?limit=${String(MAX_NAMES)}`, accept: METADATA };
    const { body } = await this.server().client.exchange(request);
    return objectsOf(body['items']).map((item) => textAt(objectAt(item, 'metadata'), 'name'));
  }

  private discovery(): Promise<Discovery> {
    return (this.found ??= Discovery.load(this.server().client));
  }

  private server(): Source {
    return (this.source ??= this.connect());
  }
}
