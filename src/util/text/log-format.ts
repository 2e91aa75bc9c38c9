/** The content of a log line. */
interface LogEntry {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Formats an entry as a line, without the line break. */
type LogFormat = (entry: LogEntry) => string;

export const LOG_FORMATS = ['json', 'text'] as const;
export type LogFormatName = (typeof LOG_FORMATS)[number];

/** Formats an entry as a JSON object. */
export const jsonLine: LogFormat = ({ level, message, fields, at }) =>
  JSON.stringify({ ...fields, level, message, timestamp: new Date(at).toISOString() });

const SEVERITIES: Readonly<Record<string, string>> = { info: 'I', warn: 'W', error: 'E' };

const pad = (value: number, digits: number): string => String(value).padStart(digits, '0');

/** Formats an entry like klog's structured output. The program name stands in for the source line, because builds are bundles. */
export const textLine: LogFormat = ({ level, message, fields, at }) => {
  const time = new Date(at);
  const day = `${pad(time.getMonth() + 1, 2)}${pad(time.getDate(), 2)}`;
  const clock = `${pad(time.getHours(), 2)}:${pad(time.getMinutes(), 2)}:${pad(time.getSeconds(), 2)}`;
  const head = `${SEVERITIES[level] ?? 'I'}${day} ${clock}.${pad(time.getMilliseconds(), 3)}000 ${String(process.pid).padStart(7)} annex]`;
  const pairs = Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : ` ${key}=${JSON.stringify(value)}`,
  );
  return `${head} ${JSON.stringify(message)}${pairs.join('')}`;
};
