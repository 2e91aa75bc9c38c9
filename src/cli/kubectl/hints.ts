import { unescapeIdentifier } from '@annex/cel';
import { messageOf } from '../../util/error-message.js';
import type { Resource } from './discovery.js';
import { Refusal } from './failure.js';
import { Fields } from './fields.js';
import type { Session } from './session.js';

const BAD_REQUEST = 400;

/** Does what asks the server something; if an expression is refused, the error says which field was probably meant. */
export async function explained<T>(
  session: Session,
  resource: Resource,
  asked: Readonly<Record<string, string>>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const status = (error as { readonly status?: unknown }).status;
    const text = messageOf(error);
    const name = Object.keys(asked).find((parameter) => text.startsWith(`${parameter}:`));
    if (status !== BAD_REQUEST || name === undefined) throw error;
    const fields = await Fields.load(session.client, resource).catch(() => undefined);
    const meant = fields && meantBy(text, asked[name] ?? '', fields);
    const hint = meant === undefined ? '' : `\nDid you mean ${meant}?`;
    throw new Refusal(BAD_REQUEST, 'BadRequest', text + hint);
  }
}

/** Returns what was probably meant by an expression that the server refused with a message; undefined if nothing is near. */
export function meantBy(message: string, expression: string, fields: Fields): string | undefined {
  const field = /undefined field '([^']*)'/.exec(message)?.[1];
  if (field !== undefined) return field === '' ? undefined : fieldMeant(field, expression, fields);
  const variable = /undeclared reference to '([^']*)'/.exec(message)?.[1];
  if (variable === undefined || variable === 'self') return undefined;
  return nearest(variable, ['object', 'now']) ?? fieldBelow(variable, 'object', fields) ?? fields.pathTo(variable);
}

function fieldMeant(field: string, expression: string, fields: Fields): string | undefined {
  for (const { index } of expression.matchAll(new RegExp(String.raw`\.\??${field}\b`, 'g'))) {
    const before = expression.slice(0, index);
    const path = /[\w.[\]'"?]+$/.exec(before)?.[0] ?? '';
    const known = fields.below(before);
    // The message is about another place where the field is written.
    if (known === undefined || known.some(({ name }) => name === field)) continue;
    const meant = nearest(
      field,
      known.map(({ name }) => name),
    );
    if (meant !== undefined) return `${path}.${meant}`;
  }
  return fields.pathTo(field);
}

function fieldBelow(name: string, path: string, fields: Fields): string | undefined {
  const meant = nearest(
    name,
    (fields.below(path) ?? []).map((field) => field.name),
  );
  return meant === undefined ? undefined : `${path}.${meant}`;
}

/** Returns the name that differs least from a word, if that is little. */
function nearest(word: string, names: readonly string[]): string | undefined {
  const most = word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 3));
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of names) {
    const distance = distanceOf(word.toLowerCase(), (unescapeIdentifier(name) ?? name).toLowerCase());
    if (distance <= most && distance < (best?.distance ?? Infinity)) best = { name, distance };
  }
  return best?.name;
}

/** Returns how many letters have to be changed, inserted, deleted or exchanged with their neighbour. */
export function distanceOf(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let distance = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        distance = Math.min(distance, (before[j - 2] ?? 0) + 1);
      row.push(distance);
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
