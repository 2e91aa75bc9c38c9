import type { FunctionDecl } from '../declarations.js';
import { fn, method } from '../declarations.js';
import { DURATION, INT, STRING, TIMESTAMP } from '../types.js';
import { work, workOnce } from '../work.js';
import { inZone } from '../values/time.js';
import type { Value } from '../values/value.js';
import { CelError, Duration, NO_SUCH_OVERLOAD, Timestamp } from '../values/value.js';

const DAY = 86400000;
/** Units of work. */
const NEW_ZONE = 4000;
const IN_ZONE = 300;

function accessor(at: Value, zone: Value, read: (date: Date) => number): Value {
  if (!(at instanceof Timestamp) || typeof zone !== 'string') return NO_SUCH_OVERLOAD;
  if (zone !== '' && zone !== 'UTC') {
    workOnce(zone, NEW_ZONE);
    work(IN_ZONE);
  }
  const date = inZone(at, zone);
  return date instanceof CelError ? date : read(date);
}

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  start.setUTCHours(0, 0, 0, 0);
  return Math.floor((date.getTime() - start.getTime()) / DAY);
}

function timeFunction(
  name: string,
  id: string,
  read: (date: Date) => number,
  perUnit?: [string, bigint],
): FunctionDecl {
  const overloads = [
    method(id, [TIMESTAMP], INT, (at) => accessor(at, 'UTC', read)),
    method(`${id}_with_tz`, [TIMESTAMP, STRING], INT, (at, zone) => accessor(at, zone, read)),
  ];
  if (perUnit !== undefined) {
    const [durationId, nanos] = perUnit;
    overloads.push(
      method(durationId, [DURATION], INT, (value) =>
        value instanceof Duration ? Number(value.nanos / nanos) : NO_SUCH_OVERLOAD,
      ),
    );
  }
  return fn(name, ...overloads);
}

export const TIME_FUNCTIONS: readonly FunctionDecl[] = [
  timeFunction('getFullYear', 'timestamp_to_year', (d) => d.getUTCFullYear()),
  timeFunction('getMonth', 'timestamp_to_month', (d) => d.getUTCMonth()),
  timeFunction('getDayOfYear', 'timestamp_to_day_of_year', dayOfYear),
  timeFunction('getDayOfMonth', 'timestamp_to_day_of_month', (d) => d.getUTCDate() - 1),
  timeFunction('getDate', 'timestamp_to_day_of_month_1_based', (d) => d.getUTCDate()),
  timeFunction('getDayOfWeek', 'timestamp_to_day_of_week', (d) => d.getUTCDay()),
  timeFunction('getHours', 'timestamp_to_hours', (d) => d.getUTCHours(), ['duration_to_hours', 3600000000000n]),
  timeFunction('getMinutes', 'timestamp_to_minutes', (d) => d.getUTCMinutes(), ['duration_to_minutes', 60000000000n]),
  timeFunction('getSeconds', 'timestamp_to_seconds', (d) => d.getUTCSeconds(), ['duration_to_seconds', 1000000000n]),
  timeFunction('getMilliseconds', 'timestamp_to_milliseconds', (d) => d.getUTCMilliseconds(), [
    'duration_to_milliseconds',
    1000000n,
  ]),
];
