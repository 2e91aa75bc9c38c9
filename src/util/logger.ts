import winston from 'winston';

export type LogFields = Readonly<Record<string, unknown>>;

/** Structured logs. Secrets, tokens and request headers never belong into a message or a field. */
export interface Logger {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Whether messages of this verbosity are written (`-v`). */
  enabled(level: number): boolean;
  /** Writes when `level` is enabled. */
  v(level: number, message: string, fields?: LogFields): void;
  /** Resolves when all that was logged so far has been handed to the output; rejects after `millis`. */
  flush(): Promise<void>;
}

class WinstonLogger implements Logger {
  constructor(
    private readonly out: winston.Logger,
    private readonly verbosity: number,
  ) {}

  info(message: string, fields?: LogFields): void {
    this.out.info(message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.out.warn(message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.out.error(message, fields);
  }

  enabled(level: number): boolean {
    return level <= this.verbosity;
  }

  v(level: number, message: string, fields?: LogFields): void {
    if (level <= this.verbosity) this.out.info(message, { v: level, ...fields });
  }

  async flush(): Promise<void> {
    const out: NodeJS.WritableStream = process.stderr;
    await new Promise<void>((resolve, reject) => {
      out.write('', (error?: Error | null) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }
}

/** A logger that writes one JSON line an entry to stderr, or to the stream given. */
export function createLogger(verbosity: number, stream: NodeJS.WritableStream = process.stderr): Logger {
  const out = winston.createLogger({
    level: 'info',
    format: winston.format.combine(winston.format.timestamp(), winston.format.json()),
    transports: [new winston.transports.Stream({ stream })],
  });
  return new WinstonLogger(out, verbosity);
}

/** Drops everything; for tests and for parts that were given none. */
export const silentLogger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  enabled: () => false,
  v: () => undefined,
  flush: () => Promise.resolve(),
};
