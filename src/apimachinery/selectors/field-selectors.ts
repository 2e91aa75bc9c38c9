import { checkSelectorLength, type LabelSelector, SelectorError } from './labels.js';
import { compareUtf8, quote } from '../meta/meta.js';
import { EVERYTHING, type SelectionPredicate } from './selection-predicate.js';

export interface FieldRequirement {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

export type FieldSet = Readonly<Record<string, string>>;

/** A parsed field selector. A field that an object lacks has the empty value. */
export class FieldSelector {
  constructor(readonly requirements: readonly FieldRequirement[]) {}

  static readonly everything = new FieldSelector([]);

  get empty(): boolean {
    return this.requirements.length === 0;
  }

  matches(fields: FieldSet): boolean {
    for (const { field, equal, value } of this.requirements) {
      if (((Object.hasOwn(fields, field) ? fields[field] : '') === value) !== equal) return false;
    }
    return true;
  }

  requiresExactMatch(field: string): string | undefined {
    return this.requirements.find((r) => r.equal && r.field === field)?.value;
  }

  toString(): string {
    return this.requirements.map((r) => `${r.field}${r.equal ? '=' : '!='}${escapeValue(r.value)}`).join(',');
  }
}

/** Escapes a value for the text of a selector. */
export const escapeValue = (value: string): string => value.replace(/[\\,=]/g, '\\$&');

function unescapeValue(value: string): string {
  if (!/[\\,=]/.test(value)) return value;
  let out = '';
  let escaped = false;
  for (const char of value) {
    if (escaped) {
      if (char !== '\\' && char !== ',' && char !== '=') {
        throw new SelectorError(`invalid field selector: invalid escape sequence: \\${char}`);
      }
      out += char;
      escaped = false;
    } else if (char === '\\') escaped = true;
    else if (char === ',' || char === '=') {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`);
    } else out += char;
  }
  if (escaped) throw new SelectorError('invalid field selector: invalid escape sequence: \\');
  return out;
}

/** Splits at commas that are not escaped. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === '\\') i++;
    else if (c === ',') {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

/** Returns a field's canonical name. Throws SelectorError if the type has no such field. */
export type FieldNames = (field: string) => string;

/** The field names of types without selectable fields of their own. */
export const metadataFieldNames: FieldNames = (field) => {
  if (field === 'metadata.name' || field === 'metadata.namespace') return field;
  throw new SelectorError(`${quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`);
};

/** Returns the field names of a type that lists its selectable fields, name and namespace included. */
export function supportedFieldNames(fields: readonly string[]): FieldNames {
  const known = new Set(fields);
  return (field) => {
    if (known.has(field)) return field;
    throw new SelectorError(`field label not supported: ${field}`);
  };
}

/** Parses a `fieldSelector` parameter. Throws SelectorError. */
export function parseFieldSelector(text: string, names: FieldNames = (field) => field): FieldSelector {
  if (text === '') return FieldSelector.everything;
  checkSelectorLength(text);
  const parsed: FieldRequirement[] = [];
  for (const term of splitTerms(text).sort(compareUtf8)) {
    if (term === '') continue;
    const match = /!=|==|=/.exec(term);
    if (match === null) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
    const value = unescapeValue(term.slice(match.index + match[0].length));
    const field = term.slice(0, match.index);
    if (field !== '' || value !== '') parsed.push({ field, equal: match[0] !== '!=', value });
  }
  // As in kube-apiserver, names are checked only after every term has been read.
  const requirements = parsed.map((requirement) => ({ ...requirement, field: names(requirement.field) }));
  return new FieldSelector(requirements);
}

/** The maximum length of an ID in characters; longer ones are not kept anywhere. */
const LONGEST_ID = 1024;

/** Returns the predicate of both selectors of a request. */
export function compileSelection(labels: LabelSelector, fields: FieldSelector): SelectionPredicate {
  if (labels.empty && fields.empty) return EVERYTHING;
  const name = fields.requiresExactMatch('metadata.name');
  const namespace = fields.requiresExactMatch('metadata.namespace');
  const field = (of: string): string | undefined => fields.requiresExactMatch(of);
  const label = labels.exactMatch();
  const id = selectionId(labels, fields);
  if (fields.empty) return { everything: false, matches: (set) => labels.matches(set), label, id };
  if (labels.empty) return { everything: false, matches: (_, set) => fields.matches(set), name, namespace, field, id };
  return {
    everything: false,
    matches: (labelSet, fieldSet) => fields.matches(fieldSet) && labels.matches(labelSet),
    name,
    namespace,
    field,
    label,
    id,
  };
}

/** Returns an ID that is equal for equal selections; undefined if it is too long. */
function selectionId(labels: LabelSelector, fields: FieldSelector): string | undefined {
  const id = JSON.stringify([labels.selectsNothing || labels.requirements, fields.requirements]);
  return id.length > LONGEST_ID ? undefined : id;
}
