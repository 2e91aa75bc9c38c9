import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import type { Clock } from '../../util/clock.js';
import type { AuditSink } from './auditor.js';

const DAY = 86_400_000;
const STAMP = /^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3})$/;

export interface LogFileOptions {
  readonly path: string;
  /** The file is rotated before it exceeds this many bytes; 0 means never. */
  readonly maxBytes: number;
  /** The number of rotated files to keep; 0 means all. */
  readonly maxBackups: number;
  /** The number of days to keep rotated files; 0 means forever. */
  readonly maxAgeDays: number;
  readonly clock: Clock;
  /** Called if lines could not be written. */
  onError(error: unknown): void;
}

/**
 * A log file that is rotated when it is full. Lines are buffered and written once per turn of the event loop, at the latest
 * before the responses of that turn leave the process.
 */
export class LogFile implements AuditSink {
  private descriptor: number;
  private size: number;
  private waiting: string[] = [];

  /** Throws if the file cannot be opened. */
  constructor(private readonly options: LogFileOptions) {
    mkdirSync(dirname(options.path), { recursive: true });
    this.descriptor = openSync(options.path, 'a', 0o600);
    this.size = fstatSync(this.descriptor).size;
  }

  write(line: string): void {
    this.waiting.push(line);
    if (this.waiting.length === 1) queueMicrotask(() => this.flush());
  }

  flush(): void {
    const lines = this.waiting;
    this.waiting = [];
    if (lines.length === 0) return;
    try {
      const all = Buffer.from(`${lines.join('\n')}\n`, 'utf8');
      if (this.options.maxBytes === 0 || this.size + all.length <= this.options.maxBytes) this.append(all);
      else for (const line of lines) this.append(Buffer.from(`${line}\n`, 'utf8'));
    } catch (error) {
      this.options.onError(error);
    }
  }

  close(): void {
    this.flush();
    closeSync(this.descriptor);
  }

  private append(bytes: Buffer): void {
    const { maxBytes } = this.options;
    if (maxBytes > 0 && this.size > 0 && this.size + bytes.length > maxBytes) this.rotate();
    for (let at = 0; at < bytes.length;) at += writeSync(this.descriptor, bytes, at);
    this.size += bytes.length;
  }

  private rotate(): void {
    const { path, clock } = this.options;
    // A missing file was moved by another process, or by a rotation that failed halfway.
    if (existsSync(path)) {
      let at = clock.now();
      while (this.backups().some(({ time }) => time === at)) at++;
      renameSync(path, join(dirname(path), `${this.prefix}${stampOf(at)}${extname(path)}`));
    }
    // Close the old file last: if the new one cannot be opened, a connection must not reuse the old descriptor in the meantime.
    const fresh = openSync(path, 'a', 0o600);
    closeSync(this.descriptor);
    this.descriptor = fresh;
    this.size = 0;
    this.clean();
  }

  private get prefix(): string {
    const { path } = this.options;
    return `${basename(path, extname(path))}-`;
  }

  /** Returns the rotated files, newest first. */
  private backups(): { readonly file: string; readonly time: number }[] {
    const { path } = this.options;
    const extension = extname(path);
    return readdirSync(dirname(path))
      .flatMap((file) => {
        if (!file.startsWith(this.prefix) || !file.endsWith(extension)) return [];
        const stamp = file.slice(this.prefix.length, file.length - extension.length);
        return STAMP.test(stamp) ? [{ file: join(dirname(path), file), time: timeOf(stamp) }] : [];
      })
      .sort((a, b) => b.time - a.time);
  }

  private clean(): void {
    const { maxBackups, maxAgeDays, clock } = this.options;
    const oldest = maxAgeDays === 0 ? -Infinity : clock.now() - maxAgeDays * DAY;
    this.backups().forEach(({ file, time }, i) => {
      if ((maxBackups > 0 && i >= maxBackups) || time < oldest) rmSync(file, { force: true });
    });
  }
}

const stampOf = (millis: number): string => new Date(millis).toISOString().slice(0, -1).replaceAll(':', '-');
const timeOf = (stamp: string): number => Date.parse(`${stamp.slice(0, 10)}${stamp.slice(10).replaceAll('-', ':')}Z`);
