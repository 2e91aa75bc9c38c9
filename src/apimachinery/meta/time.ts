import { parseMicroTime, parseTime } from '@annex/cel/formats/time';

export { parseTime, TimeError } from '@annex/cel/formats/time';

/** Unix seconds of 0001-01-01T00:00:00Z, the zero time. */
const ZERO_SECONDS = -62135596800;

function formatSeconds(seconds: number): string {
  const iso = new Date(seconds * 1000).toISOString();
  // JavaScript writes years beyond four digits with a sign and six digits.
  const match = /^([-+]?)0*(\d{4,})(-.*)\.\d{3}Z$/.exec(iso);
  return `${match?.[1] === '-' ? '-' : ''}${match?.[2] ?? ''}${match?.[3] ?? ''}`;
}

const CANONICAL = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;

/** Returns a metav1.Time in its canonical form: in UTC, without the fraction; null for the zero time. Throws TimeError. */
export function canonicalTime(text: string): string | null {
  const { seconds } = parseTime(text);
  if (seconds === ZERO_SECONDS) return null;
  return CANONICAL.test(text) ? text : `${formatSeconds(seconds)}Z`;
}

/** Returns a metav1.MicroTime in its canonical form; null for the zero time. Throws TimeError. */
export function canonicalMicroTime(text: string): string | null {
  const { seconds, nanos } = parseMicroTime(text);
  if (seconds === ZERO_SECONDS && nanos === 0) return null;
  return `${formatSeconds(seconds)}.${String(Math.trunc(nanos / 1000)).padStart(6, '0')}Z`;
}

/** Returns a decoded time in milliseconds since the epoch; undefined if it is not set. */
export function timeMillis(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  const millis = Date.parse(text);
  return Number.isNaN(millis) ? undefined : millis;
}
