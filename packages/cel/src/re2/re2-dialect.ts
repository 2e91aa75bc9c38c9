/** What kube-apiserver's regular expressions take and the library's do not, written as the library takes it. */
export interface Dialect {
  readonly text: string;
  /** What it says of the text, in the words of the pattern as it was given. */
  readonly original: (message: string) => string;
}

/** General categories of characters by the names that Unicode gives them. */
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

/** Letter case, blanks, hyphens and underscores in names of classes mean nothing. */
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
/** A character class by name; the start of a group with a name; what could be taken for one of these; brackets. */
const TOKEN = /\\[pP](?:\{(\^?)([^}]*)\}|([A-Za-z]))|(\(\?P?<)(\w+)>|\\Q[^]*?(?:\\E|$)|\\[^]|\[:\^?\w*:\]|\[\^?\]?|\]/g;

/**
 * The pattern in the library's words: names of character classes in any spelling, and groups of which several have one name. Undefined
 * where it needs no change.
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
        return change(token, `${group}${unused(label, names, (words ??= new Set(pattern.match(/\w+/g))))}>`);
      }
      // The first bracket after the opening one is a member of the class; named classes are complete, wherever they stand.
      if (inClass) inClass = token.startsWith('[:') || !token.endsWith(']') || token === '\\]';
      else inClass = token.startsWith('[') && !token.startsWith('[:');
      return token;
    },
  );
  if (changed.size === 0) return undefined;
  const original = (message: string): string =>
    message.includes(text)
      ? message.replace(text, () => pattern)
      : [...changed].reduce((told, [to, from]) => told.replaceAll(to, () => from), message);
  return { text, original };
}

function known(name: string): string {
  const wanted = canonical(name);
  return CATEGORIES.get(wanted) ?? wanted;
}

/** The label, or where it is taken one that is no word of the pattern. `taken`: with the number from which to look on. */
function unused(label: string, taken: Map<string, number>, words: ReadonlySet<string>): string {
  let next = taken.get(label);
  taken.set(label, next ?? 2);
  if (next === undefined) return label;
  let own: string;
  do own = `${label}_${String(next++)}`;
  while (words.has(own));
  taken.set(label, next);
  return own;
}
