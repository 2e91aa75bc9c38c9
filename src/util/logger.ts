import { Writable } from 'node:stream';
import winston from 'winston';
import { jsonLine, type LogFormatName, textLine } from './text/log-format.js';

type LogFields = Readonly<Record<string, unknown>>;

/** A structured logger. Secrets, tokens and request headers must never be part of a message or a field. */
export interface Logger {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Reports whether messages of this verbosity are written (`-v`). */
  enabled(level: number): boolean;
  /** Writes the message if `level` is enabled. */
  v(level: number, message: string, fields?: LogFields): void;
  /** Resolves when everything logged so far has been passed to the output. */
  flush(): Promise<void>;
}

class WinstonLogger implements Logger {
  constructor(
    private readonly out: winston.Logger,
    private readonly verbosity: number,
    private readonly stream: NodeJS.WritableStream,
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
    await new Promise<void>((resolve, reject) => {
      this.stream.write('', (error?: Error | null) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }
}

/** The key under which winston stores the formatted line. */
const LINE = Symbol.for('message');

function lineOf(entry: unknown): string {
  if (typeof entry !== 'object' || entry === null || !(LINE in entry)) return '';
  return typeof entry[LINE] === 'string' ? `${entry[LINE]}\n` : '';
}

export interface LoggerOptions {
  readonly verbosity: number;
  /** The log format. The default is text on a terminal, and JSON otherwise. */
  readonly format?: LogFormatName | undefined;
}

/** Creates a logger that writes one line per entry to the stream, by default stderr. */
export function createLogger(
  { verbosity, format }: LoggerOptions,
  stream: NodeJS.WritableStream & { readonly isTTY?: boolean } = process.stderr,
): Logger {
  const isText = format === undefined ? stream.isTTY === true : format === 'text';
  const lineFor = isText ? textLine : jsonLine;
  const out = winston.createLogger({
    level: 'info',
    format: winston.format.printf(({ level, message, ...fields }) =>
      lineFor({ level, message: String(message), fields, at: Date.now() }),
    ),
  });
  out.pipe(
    new Writable({
      objectMode: true,
      write: (entry: unknown, _encoding, done) => {
        stream.write(lineOf(entry));
        done();
      },
    }),
  );
  return new WinstonLogger(out, verbosity, stream);
}

/** Discards everything. For tests, and for components without a logger. */
export const silentLogger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  enabled: () => false,
  v: () => undefined,
  flush: () => Promise.resolve(),
};
