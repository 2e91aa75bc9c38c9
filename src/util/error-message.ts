/** The text of whatever was thrown. Errors of files are told as in Go: `open <path>: no such file or directory`. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return fileProblem(error) ?? error.message;
  return typeof error === 'string' ? error : JSON.stringify(error);
}

function fileProblem({ message, code, syscall, path }: NodeJS.ErrnoException): string | undefined {
  if (code === undefined || syscall === undefined || path === undefined) return undefined;
  const [, why] = /^[A-Z]+: ([^,]+), /.exec(message) ?? [];
  return why === undefined ? undefined : `${syscall} ${path}: ${why}`;
}
