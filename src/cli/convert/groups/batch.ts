import { type Convert, Refusal, type Row } from '../conversion.js';
import { isUnset, objectIn, textIn } from '../fields.js';

/** Contrary to its documentation, v1beta1 accepted a time zone in the schedule; v1 has a field for it. */
const ZONE = /^(?:CRON_TZ|TZ)=(\S+)\s+(.*)$/s;

const cronJob: Convert = (object) => {
  const spec = objectIn(object, 'spec', '');
  if (spec === undefined) return;
  const [, zone, schedule] = ZONE.exec(textIn(spec, 'schedule', 'spec') ?? '') ?? [];
  if (zone === undefined || schedule === undefined) return;
  if (!isUnset(spec['timeZone'])) throw new Refusal('spec.schedule contains a time zone although spec.timeZone is set');
  spec['schedule'] = schedule;
  spec['timeZone'] = zone;
};

export const batch: readonly Row[] = [
  { from: ['batch/v1beta1', 'batch/v2alpha1'], kinds: ['CronJob'], to: 'batch/v1', convert: cronJob },
];
