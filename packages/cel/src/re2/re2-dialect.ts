/** A pattern that kube-apiserver accepts but the library does not, rewritten so that the library accepts it. */
export interface Dialect {
  readonly text: string;
  /** Translates an error message of the library, so that it quotes the original pattern. */
  readonly original: (message: string) => string;
}

/** The general categories of characters, by their Unicode names. */
const CATEGORY_NAMES: Readonly<Record<string, string>> = {
  C: 'Other',
  Cc: 'Control|cntrl',
  Cf: 'Format',
  Cn: 'Unassigned',
  Co: 'Private_Use',
  Cs: 'Surrogate',
  L: 'Letter',
  LC: 'Cased_Letter',
  Ll: 'Lowercase_Letter',
  Lm: 'Modifier_Letter',
  Lo: 'Other_Letter',
  Lt: 'Titlecase_Letter',
  Lu: 'Uppercase_Letter',
  M: 'Mark|Combining_Mark',
  Mc: 'Spacing_Mark',
  Me: 'Enclosing_Mark',
  Mn: 'Nonspacing_Mark',
  N: 'Number',
  Nd: 'Decimal_Number|digit',
  Nl: 'Letter_Number',
  No: 'Other_Number',
  P: 'Punctuation|punct',
  Pc: 'Connector_Punctuation',
  Pd: 'Dash_Punctuation',
  Pe: 'Close_Punctuation',
  Pf: 'Final_Punctuation',
  Pi: 'Initial_Punctuation',
  Po: 'Other_Punctuation',
  Ps: 'Open_Punctuation',
  S: 'Symbol',
  Sc: 'Currency_Symbol',
  Sk: 'Modifier_Symbol',
  Sm: 'Math_Symbol',
  So: 'Other_Symbol',
  Z: 'Separator',
  Zl: 'Line_Separator',
  Zp: 'Paragraph_Separator',
  Zs: 'Space_Separator',
};

/** Normalizes the name of a character class: letter case, spaces, hyphens and underscores do not matter. */
function canonical(name: string): string {
  const letters = name.replace(/[-_ ]/g, '');
  return letters.slice(0, 1).toUpperCase() + letters.slice(1).replace(/[A-Z]/g, (c) => c.toLowerCase());
}

const CATEGORIES = new Map(
  Object.entries(CATEGORY_NAMES).flatMap(([category, names]) =>
    names.split('|').map((name) => [canonical(name), category]),
  ),
);

const INTERESTING = /\\[pP]|\(\?P?</;
/** Matches a named character class, the start of a named group, anything that could be mistaken for one of these, and brackets. */
const TOKEN =
  /\\[pP](?:\{(\^?)([^}\\]*)\}|([A-Za-z]))|(\(\?P?<)(\w+)>|\\Q[^]*?(?:\\E|$)|\\[^]|\[:\^?\w*:\]|\[\^?\]?|\]/g;

/**
 * Rewrites a pattern for the library: the names of character classes in any spelling, and groups that share a name. Returns undefined
 * if the pattern needs no change.
 */
export function dialectOf(pattern: string): Dialect | undefined {
  if (!INTERESTING.test(pattern)) return undefined;
  const changed = new Map<string, string>();
  const names = new Map<string, number>();
  let words: ReadonlySet<string> | undefined;
  let inClass = false;
  const change = (from: string, to: string): string => {
    if (from !== to) changed.set(to, from);
    return to;
  };
  const text = pattern.replace(
    TOKEN,
    (token: string, not?: string, name?: string, letter?: string, group?: string, label?: string) => {
      if (name !== undefined) return change(token, `${token.slice(0, 3)}${not ?? ''}${known(name)}}`);
      if (letter !== undefined) return change(token, token.slice(0, 2) + known(letter));
      if (group !== undefined && label !== undefined) {
        if (inClass) return token;
        return change(token, `${group}${uniqueLabel(label, names, (words ??= new Set(pattern.match(/\w+/g))))}>`);
      }
      // A bracket right after the opening one is a member of the class. A named class such as [:alpha:] is complete in itself anywhere.
      if (inClass) inClass = token.startsWith('[:') || !token.endsWith(']') || token === '\\]';
      else inClass = token.startsWith('[') && !token.startsWith('[:');
      return token;
    },
  );
  if (changed.size === 0) return undefined;
  const original = (message: string): string =>
    message.includes(text)
      ? message.replace(text, () => pattern)
      : [...changed].reduce((translated, [to, from]) => translated.replaceAll(to, () => from), message);
  return { text, original };
}

function known(name: string): string {
  const wanted = canonical(name);
  return CATEGORIES.get(wanted) ?? wanted;
}

/** Returns the label, or if it is taken, the label with a number that occurs nowhere in the pattern. `taken` maps labels to the next number. */
function uniqueLabel(label: string, taken: Map<string, number>, words: ReadonlySet<string>): string {
  let next = taken.get(label);
  taken.set(label, next ?? 2);
  if (next === undefined) return label;
  let own: string;
  do own = `${label}_${String(next++)}`;
  while (words.has(own));
  taken.set(label, next);
  return own;
}
