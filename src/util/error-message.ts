/** Returns the message of a thrown value. File errors are worded as in Go: `open <path>: no such file or directory`. */
export function messageOf(error: unknown): string {
  // Not every Error is an instance of this realm's class.
  if (typeof error === 'object' && error !== null && 'message' in error)
    return fileProblem(error) ?? String(error.message);
  return typeof error === 'string' ? error : JSON.stringify(error);
}

function fileProblem(error: object): string | undefined {
  const { message, code, syscall, path }: Partial<NodeJS.ErrnoException> = error;
  if (message === undefined || code === undefined || syscall === undefined || path === undefined) return undefined;
  const [, why] = /^[A-Z]+: ([^,]+), /.exec(message) ?? [];
  return why === undefined ? undefined : `${syscall} ${path}: ${why}`;
}

/** Returns a thrown value as an Error. */
export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Joins messages as Go's aggregate errors do: one plain, several in brackets, each text once. */
export function aggregateMessages(messages: readonly string[]): string {
  const texts = [...new Set(messages)];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}
