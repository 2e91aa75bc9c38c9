const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** Formats a duration for table output, with two or three significant figures (`42s`, `5m10s`, `3h`, `4d7h`, `2y31d`). */
export function humanDuration(millis: number): string {
  const seconds = Math.trunc(millis / 1000);
  if (seconds < -1) return '<invalid>';
  if (millis < 0) return '0s';
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return withRest(seconds, minute, 'm', 1, 's');
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return withRest(seconds, hour, 'h', minute, 'm');
  if (seconds < 2 * day) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return withRest(seconds, day, 'd', hour, 'h');
  if (seconds < 2 * year) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * year) return withRest(seconds, year, 'y', day, 'd');
  return `${Math.floor(seconds / year)}y`;
}

function withRest(seconds: number, unit: number, sign: string, small: number, smallSign: string): string {
  const whole = Math.floor(seconds / unit);
  const rest = Math.floor((seconds % unit) / small);
  return rest === 0 ? `${whole}${sign}` : `${whole}${sign}${rest}${smallSign}`;
}
