export interface BackupFlags {
  /** A file, a directory, or '-' for standard output. */
  readonly output: string;
  /** Storage names; empty: all types. */
  readonly types: readonly string[];
  /** How many backups to keep in the directory; 0: all. */
  readonly keep: number;
}

export interface RestoreFlags {
  readonly input: string;
  readonly types: readonly string[];
  /** 0: chosen by the age of the backup. */
  readonly continueAbove: number;
}
