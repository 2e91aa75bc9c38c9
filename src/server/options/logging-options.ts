import { LOG_FORMATS, type LogFormatName } from '../../util/text/log-format.js';
import type { LoggerOptions } from '../../util/logger.js';
import { FlagError, flagsOf, type FlagValues, int, text } from './flags.js';

const flag = flagsOf('Logs flags:');

/** klog's verbosity is an int32. */
const MAX_VERBOSITY = 2 ** 31 - 1;

const isFormat = (value: string): value is LogFormatName => LOG_FORMATS.some((format) => format === value);

/** Flags of the verbosity and the format of the log. */
export const LOGGING_FLAGS = {
  loggingFormat: flag(
    'logging-format',
    text,
    '',
    'Sets the log format. Permitted formats: "json", "text". If unset, text on a terminal, json otherwise.',
  ),
  verbosity: flag(
    'v',
    int(0, MAX_VERBOSITY),
    0,
    'Verbosity of the log. 2: failed authentication; 3: each request and each failed connection.',
  ),
};

type Values = FlagValues<typeof LOGGING_FLAGS>;

/** Throws FlagError, in kube-apiserver's words. */
export function validateLoggingOptions({ loggingFormat }: Values): void {
  if (loggingFormat === '' || isFormat(loggingFormat)) return;
  throw new FlagError(`format: Invalid value: ${JSON.stringify(loggingFormat)}: Unsupported log format`);
}

/** Returns the options of the logger. */
export const loggerOptions = ({ verbosity, loggingFormat }: Values): LoggerOptions => ({
  verbosity,
  format: isFormat(loggingFormat) ? loggingFormat : undefined,
});
