/** Trims like Go's strings.TrimSpace: Unicode white space, which does not include U+FEFF. */
export const trimSpace = (value: string): string =>
  value.replace(
    /^[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/g,
    '',
  );
