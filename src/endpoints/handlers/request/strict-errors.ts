import type { RequestContext } from '../../../request/context.js';

const YAML_ERRORS = /^(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n/;

/** Warns about unknown and duplicate fields. YAML reports all its duplicates in one text, one per line. */
export function warnOfStrictErrors(context: RequestContext, errors: readonly string[]): void {
  for (const text of errors) {
    const lines = text.replace(YAML_ERRORS, '');
    if (lines === text) context.warn(text);
    else for (const line of lines.split('\n')) context.warn(line.trim());
  }
}
