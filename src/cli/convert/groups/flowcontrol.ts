import type { JsonObject } from '../../../apimachinery/json/json.js';
import { type Convert, type Row } from '../conversion.js';
import { isEmpty, isUnset, objectIn, rename, take } from '../fields.js';

const GROUP = 'flowcontrol.apiserver.k8s.io';
const V1BETA3 = `${GROUP}/v1beta3`;
/** The annotation that made v1beta3 take a share of 0 literally. */
const PRESERVE_ZERO = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';
const DEFAULT_SHARES = 30;

const priorityLevel: Convert = (object, _notes, apiVersion) => {
  const preserved = takePreserveZero(object);
  const spec = objectIn(object, 'spec', '');
  const limited = spec === undefined ? undefined : objectIn(spec, 'limited', 'spec');
  if (limited === undefined) return;
  if (apiVersion !== V1BETA3) rename(limited, 'assuredConcurrencyShares', 'nominalConcurrencyShares', 'spec.limited');
  const shares = limited['nominalConcurrencyShares'];
  // An absent value was indistinguishable from 0, which v1 takes literally.
  const isZero = isUnset(shares) || shares === 0;
  if (isZero) limited['nominalConcurrencyShares'] = preserved && apiVersion === V1BETA3 ? 0 : DEFAULT_SHARES;
};

function takePreserveZero(object: JsonObject): boolean {
  const metadata = objectIn(object, 'metadata', '');
  const annotations = metadata === undefined ? undefined : objectIn(metadata, 'annotations', 'metadata');
  if (metadata === undefined || annotations?.[PRESERVE_ZERO] === undefined) return false;
  take(annotations, PRESERVE_ZERO);
  if (isEmpty(annotations)) take(metadata, 'annotations');
  return true;
}

const from = [`${GROUP}/v1beta1`, `${GROUP}/v1beta2`, V1BETA3];

export const flowcontrol: readonly Row[] = [
  { from, kinds: ['FlowSchema'], to: `${GROUP}/v1` },
  { from, kinds: ['PriorityLevelConfiguration'], to: `${GROUP}/v1`, convert: priorityLevel },
];
