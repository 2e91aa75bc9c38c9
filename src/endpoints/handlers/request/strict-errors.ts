import type { RequestContext } from '../../../request/context.js';

const YAML_ERRORS = /^(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n/;

/** Warns of unknown and duplicate fields. YAML reports its duplicates all in one text, a line for each. */
export function warnOfStrictErrors(context: RequestContext, errors: readonly string[]): void {
  for (const text of errors) {
    const lines = text.replace(YAML_ERRORS, '');
    if (lines === text) context.warn(text);
    else for (const line of lines.split('\n')) context.warn(line.trim());
  }
}
