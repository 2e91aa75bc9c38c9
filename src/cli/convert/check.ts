import { isObject, type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { type Definitions, objectsOfDocument, preferredVersion } from './definitions/definitions.js';
import type { Piece } from './documents/documents.js';
import type { Input } from './documents/inputs.js';
import { isLeftAlone } from './convert-documents.js';
import { lifecycleOf, minorOf, type Replacement } from './lifecycles.js';
import { describe } from './name.js';
import { deadOf } from './table.js';

/** One use of a deprecated or removed version. */
interface Finding {
  readonly file: string;
  readonly line: number;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly status: 'removed' | 'deprecated';
  readonly deprecatedIn: string | null;
  readonly removedIn: string | null;
  readonly replacement: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly availableSince: string | null;
  } | null;
  readonly message: string;
}

/** A document that could not be checked. */
interface Unreadable {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export interface Report {
  readonly targetVersion: string;
  readonly findings: readonly Finding[];
  readonly errors: readonly Unreadable[];
}

type Verdict = Pick<Finding, 'status' | 'deprecatedIn' | 'removedIn' | 'replacement' | 'message'>;

/** Returns the versions used in inputs that a release of Kubernetes deprecates or no longer serves. */
export function check(inputs: readonly Input[], target: string, definitions: Definitions): Report {
  const findings: Finding[] = [];
  const errors: Unreadable[] = [];
  for (const input of inputs) {
    const { name, pieces } = input;
    for (const piece of pieces) {
      if (isLeftAlone(input, piece)) continue;
      if (piece.problem !== undefined) errors.push({ file: name, line: piece.line, message: piece.problem });
      else findings.push(...checkPiece(piece, name, minorOf(target) ?? 0, definitions));
    }
  }
  return { targetVersion: target, findings, errors };
}

function checkPiece(piece: Piece, file: string, minor: number, definitions: Definitions): Finding[] {
  const { value, line } = piece;
  const list = isObject(value) ? value : {};
  const listVersion = stringAt(list, 'apiVersion') ?? '';
  const listKind = (stringAt(list, 'kind') ?? '').replace(/List$/, '');
  const objects = objectsOfDocument(value);
  // An empty list uses its version, too.
  const used =
    objects.length === 0 && isObject(value) ? [{ apiVersion: listVersion, kind: listKind } as JsonObject] : objects;
  return used.flatMap((object) => {
    const apiVersion = stringAt(object, 'apiVersion') ?? listVersion;
    const kind = stringAt(object, 'kind') ?? listKind;
    const verdict = builtIn(apiVersion, kind, minor) ?? custom(apiVersion, kind, definitions);
    if (verdict === undefined) return [];
    const metadata = objectAt(object, 'metadata');
    const namespace = stringAt(metadata, 'namespace') ?? null;
    const name = stringAt(metadata, 'name') ?? stringAt(metadata, 'generateName') ?? null;
    const message = `${describe({ ...object, apiVersion, kind })}: ${verdict.message}`;
    return [{ file, line, apiVersion, kind, namespace, name, ...verdict, message }];
  });
}

function builtIn(apiVersion: string, kind: string, target: number): Verdict | undefined {
  const row = lifecycleOf(apiVersion, kind);
  if (row === undefined) return undefined;
  const { deprecated, removed, replacements } = row;
  const isServed = ({ since }: Replacement): boolean => (minorOf(since) ?? 0) <= target;
  const replacement = replacements.find(isServed) ?? replacements[0];
  const isRemoved = removed !== undefined && (minorOf(removed) ?? 0) <= target;
  const isDeprecated = (minorOf(deprecated) ?? 0) <= target && replacement !== undefined && isServed(replacement);
  if (!isRemoved && !isDeprecated) return undefined;
  const fate = isRemoved
    ? `removed in ${removed} (deprecated since ${deprecated})`
    : `deprecated since ${deprecated}${removed === undefined ? '' : `, removed in ${removed}`}`;
  return {
    status: isRemoved ? 'removed' : 'deprecated',
    deprecatedIn: deprecated,
    removedIn: removed ?? null,
    replacement:
      replacement === undefined
        ? null
        : { apiVersion: replacement.apiVersion, kind: replacement.kind, availableSince: replacement.since },
    message: `${fate}; ${advice(apiVersion, kind, replacement, replacement !== undefined && isServed(replacement))}`,
  };
}

function advice(apiVersion: string, kind: string, replacement: Replacement | undefined, served: boolean): string {
  if (replacement === undefined || deadOf(apiVersion, kind) !== undefined)
    return deadOf(apiVersion, kind)?.reason ?? 'nothing replaces it';
  const other = replacement.kind === kind ? '' : ` ${replacement.kind}`;
  return `use ${replacement.apiVersion}${other} (available ${served ? 'since' : 'only from'} ${replacement.since}${served ? '' : ' on'})`;
}

function custom(apiVersion: string, kind: string, definitions: Definitions): Verdict | undefined {
  const [group = '', name] = apiVersion.split('/');
  const type = definitions.get(group, kind);
  if (type === undefined || name === undefined) return undefined;
  const known = type.versions.find((version) => version.name === name);
  if (known?.served === true && !known.deprecated) return undefined;
  const better = preferredVersion(type);
  const advised = better === undefined ? 'the definition serves no other version' : `use ${group}/${better.name}`;
  const gone = known?.served !== true;
  const fate = gone ? 'not served by its definition' : (known.warning ?? 'deprecated by its definition');
  return {
    status: gone ? 'removed' : 'deprecated',
    deprecatedIn: null,
    removedIn: null,
    replacement: better === undefined ? null : { apiVersion: `${group}/${better.name}`, kind, availableSince: null },
    message: `${fate}; ${advised}`,
  };
}

export const hasFailed = ({ findings, errors }: Report): boolean =>
  errors.length > 0 || findings.some(({ status }) => status === 'removed');

/** Formats the report as text. */
export function reportText({ targetVersion, findings, errors }: Report): string {
  const found = findings.map(({ file, line, status, message }) => {
    const level = status === 'removed' ? 'error' : 'warning';
    return `${level}: ${file}:${String(line)}: ${message}`;
  });
  const unread = errors.map(({ file, line, message }) => `error: ${file}:${String(line)}: ${message}`);
  const all = [...found, ...unread];
  return `${all.length === 0 ? `Nothing is deprecated or removed in Kubernetes ${targetVersion}.` : all.join('\n')}\n`;
}
