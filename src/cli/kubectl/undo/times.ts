import { formatTime } from '../../../apimachinery/meta/meta.js';
import { parseGoDuration } from '../../../go/duration.js';
import { UsageError } from '../failure.js';

const DAY_MILLIS = 86_400_000;

/** Reads a time as users of kubectl write it: how long ago (10m, 2h, 7d), or RFC 3339. Returns it as the API has it. */
export function timeOf(flag: string, text: string, now: number): string {
  const ago = agoOf(text);
  if (ago !== undefined) return formatTime(now - ago);
  const at = /^\d{4}-\d\d-\d\d[Tt]/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at))
    throw new UsageError(
      `--${flag}: ${text} is neither a duration such as 10m nor a time such as 2026-11-22T10:00:00Z`,
    );
  return formatTime(at);
}

function agoOf(text: string): number | undefined {
  const days = /^(\d+)d$/.exec(text);
  if (days !== null) return Number(days[1]) * DAY_MILLIS;
  try {
    const millis = parseGoDuration(text);
    return millis >= 0 ? millis : undefined;
  } catch {
    return undefined;
  }
}
