import {
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  Printed,
} from '../../../../../apimachinery/meta/field-error.js';
import { deepEqual, type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../../../apimachinery/json/values.js';
import { goJson, type KubeObject } from '../../../../../apimachinery/meta/meta.js';
import { qualifiedNameErrors, subdomainErrors } from '../../../../../apimachinery/validation/name-errors.js';
import { ipErrors } from '../../../shared/checks.js';
import { numberOf } from '../../../shared/fields.js';
import { claimStatusErrors, deviceErrors, extendedClaimErrors, userErrors } from '../containers/container-statuses.js';

const STATUS = FieldPath.of('status');
const SYSTEM_CONDITIONS = ['PodScheduled', 'Ready', 'Initialized'];
const NOT_NEGATIVE = 'must be a non-negative integer';

/** Validates an update of a pod's status. */
export function podStatusErrors(pod: KubeObject, old: KubeObject): FieldError[] {
  const spec = objectAt(old, 'spec') ?? {};
  const status = objectAt(pod, 'status') ?? {};
  const before = objectAt(old, 'status') ?? {};
  const errors = conditionErrors(status);
  errors.push(...nominationErrors(status, before, spec));
  if (numberOf(status['observedGeneration']) < 0)
    errors.push(invalid(STATUS.child('observedGeneration'), status['observedGeneration'] ?? 0, NOT_NEGATIVE));
  if (!deepEqual(status['qosClass'], before['qosClass']))
    errors.push(invalid(STATUS.child('qosClass'), status['qosClass'] ?? '', 'field is immutable'));
  for (const [statuses, containers] of [
    ['containerStatuses', 'containers'],
    ['initContainerStatuses', 'initContainers'],
  ] as const) {
    const known = objectsOf(spec[containers]);
    errors.push(...revivedErrors(status, before, statuses, (name, code) => restarts(known, spec, name, code)));
  }
  errors.push(...revivedErrors(status, before, 'ephemeralContainerStatuses', () => false));
  return [
    ...errors,
    ...claimStatusErrors(status, spec),
    ...extendedClaimErrors(status, spec),
    ...listErrors(status, before, 'podIPs'),
    ...hostErrors(status, before),
    ...userErrors(status, spec),
    ...deviceErrors(status, spec),
  ];
}

function conditionErrors(status: JsonObject): FieldError[] {
  return objectsOf(status['conditions']).flatMap((condition, i) => {
    const path = STATUS.child('conditions').index(i);
    const errors: FieldError[] = [];
    const generation = condition['observedGeneration'];
    if (numberOf(generation) < 0) errors.push(invalid(path.child('observedGeneration'), generation ?? 0, NOT_NEGATIVE));
    const type = textOf(condition['type']);
    if (!SYSTEM_CONDITIONS.includes(type)) errors.push(...qualifiedNameErrors(type, path.child('Type')));
    return errors;
  });
}

function nominationErrors(status: JsonObject, before: JsonObject, spec: JsonObject): FieldError[] {
  const name = textOf(status['nominatedNodeName']);
  if (name === '' || name === textOf(before['nominatedNodeName'])) return [];
  const path = STATUS.child('nominatedNodeName');
  const errors = subdomainErrors(name, path);
  if (textOf(spec['nodeName']) !== '')
    errors.push(forbidden(path, 'may not be set on pods that are already bound to a node'));
  return errors;
}

/** Reports whether a terminated container is restarted. */
function restarts(known: readonly JsonObject[], spec: JsonObject, name: string, exitCode: number): boolean {
  const container = known.find((one) => textOf(one['name']) === name);
  const policy = textOf(container?.['restartPolicy']) || textOf(spec['restartPolicy']);
  if (container === undefined) return policy === 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

function revivedErrors(
  status: JsonObject,
  before: JsonObject,
  field: string,
  restarted: (name: string, exitCode: number) => boolean,
): FieldError[] {
  const after = objectsOf(status[field]);
  return objectsOf(before[field]).flatMap((old, i) => {
    const ended = objectAt(objectAt(old, 'state'), 'terminated');
    const name = textOf(old['name']);
    const next = after.find((one) => textOf(one['name']) === name);
    if (ended === undefined || next === undefined || objectAt(next, 'state')?.['terminated'] !== undefined) return [];
    if (restarted(name, numberOf(ended['exitCode']))) return [];
    const path = STATUS.child(field).index(i).child('state');
    return [forbidden(path, 'may not be transitioned to non-terminated state')];
  });
}

function listErrors(status: JsonObject, before: JsonObject, field: string): FieldError[] {
  const path = STATUS.child(field);
  const known = objectsOf(before[field]).map((one) => textOf(one['ip']));
  const ips = objectsOf(status[field]).map((one) => textOf(one['ip']));
  const errors = ips.flatMap((ip, i) => (known.includes(ip) ? [] : ipErrors(ip, path.index(i))));
  const both = new Set(ips.map((ip) => ip.includes(':'))).size === 2;
  if (ips.length > 1 && (!both || ips.length > 2)) {
    const shown = new Printed(goJson(ips.map((ip) => ({ IP: ip }))));
    errors.push(invalid(path, shown, 'may specify no more than one IP for each IP family'));
  }
  return errors;
}

function hostErrors(status: JsonObject, before: JsonObject): FieldError[] {
  const first = objectsOf(status['hostIPs'])[0];
  if (first === undefined) return [];
  const ip = textOf(first['ip']);
  const errors = listErrors(status, before, 'hostIPs');
  if (ip === textOf(status['hostIP'])) return errors;
  return [invalid(STATUS.child('hostIPs').index(0).child('ip'), ip, 'must be equal to `hostIP`'), ...errors];
}
