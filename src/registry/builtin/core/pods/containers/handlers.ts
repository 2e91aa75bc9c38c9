import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import { regexError } from '../../../../../apimachinery/validation/names.js';
import type * as core from '../../../../../apimachinery/generated/core.js';
import { choiceIfSet, integerOf, notNegative, portErrors } from '../../../shared/checks.js';
import { numberOf } from '../../../shared/fields.js';

/** The termination grace period of the pod in seconds. */
type Grace = number | bigint | undefined;
type Check = (action: JsonObject, path: FieldPath, grace: Grace) => FieldError[];

const HEADER = '[-A-Za-z0-9]+';
const HEADER_FORM = new RegExp(`^${HEADER}$`);

function headerErrors(name: string, path: FieldPath): FieldError[] {
  if (HEADER_FORM.test(name)) return [];
  const why = regexError("a valid HTTP header must consist of alphanumeric characters or '-'", HEADER, 'X-Header-Name');
  return [invalid(path, name, why)];
}

const httpGet: Check = (action: core.HTTPGetAction, path) => {
  const errors = !action.path ? [required(path.child('path'))] : [];
  errors.push(...portErrors(action.port, path.child('port')));
  errors.push(...choiceIfSet(action.scheme ?? '', path.child('scheme'), ['HTTP', 'HTTPS']));
  const headers = (action.httpHeaders ?? []).map((header) => header.name ?? '');
  return [...errors, ...headers.flatMap((name) => headerErrors(name, path.child('httpHeaders')))];
};

const sleep: Check = (action: core.SleepAction, path, grace) => {
  const seconds = integerOf(action.seconds) ?? 0;
  if (grace === undefined || (seconds >= 0 && seconds <= grace)) return [];
  const why = `must be non-negative and less than terminationGracePeriodSeconds (${String(grace)})`;
  return [invalid(path, seconds, why)];
};

const ACTIONS: readonly (readonly [string, Check])[] = [
  [
    'exec',
    (action: core.ExecAction, path) => ((action.command ?? []).length === 0 ? [required(path.child('command'))] : []),
  ],
  ['httpGet', httpGet],
  ['tcpSocket', (action: core.TCPSocketAction, path) => portErrors(action.port, path.child('port'))],
  ['grpc', (action: core.GRPCAction, path) => portErrors(numberOf(action.port), path.child('port'))],
  ['sleep', sleep],
];

/** Validates a handler: it must have exactly one of the actions in `kinds`. */
function handlerErrors(handler: core.Probe, path: FieldPath, grace: Grace, kinds: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  let count = 0;
  for (const [field, check] of ACTIONS) {
    const action = kinds.includes(field) ? objectAt(handler, field) : undefined;
    if (action === undefined) continue;
    const at = path.child(field);
    if (count > 0) errors.push(forbidden(at, 'may not specify more than 1 handler type'));
    else errors.push(...check(action, at, grace));
    count++;
  }
  return count === 0 ? [required(path, 'must specify a handler type')] : errors;
}

const PROBED = ['exec', 'httpGet', 'tcpSocket', 'grpc'];
const HOOKED = ['exec', 'httpGet', 'tcpSocket', 'sleep'];
const SECONDS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

function probeErrors(probe: core.Probe, path: FieldPath, grace: Grace): FieldError[] {
  const errors = handlerErrors(probe, path, grace, PROBED);
  errors.push(...SECONDS.flatMap((field) => notNegative(probe[field], path.child(field))));
  const ends = integerOf(probe.terminationGracePeriodSeconds);
  if (ends !== undefined && ends <= 0) {
    errors.push(invalid(path.child('terminationGracePeriodSeconds'), ends, 'must be greater than 0'));
  }
  return errors;
}

/** Validates the liveness, readiness and startup probes of a container. */
export function probesErrors(container: core.Container, path: FieldPath, grace: Grace): FieldError[] {
  return (['livenessProbe', 'readinessProbe', 'startupProbe'] as const).flatMap((name) => {
    const probe = container[name];
    if (probe === undefined) return [];
    const at = path.child(name);
    const errors = probeErrors(probe, at, grace);
    if (name === 'readinessProbe') {
      const ends = integerOf(probe.terminationGracePeriodSeconds);
      const why = 'must not be set for readinessProbes';
      return ends === undefined ? errors : [...errors, invalid(at.child('terminationGracePeriodSeconds'), ends, why)];
    }
    const successes = numberOf(probe.successThreshold);
    return successes === 1 ? errors : [...errors, invalid(at.child('successThreshold'), successes, 'must be 1')];
  });
}

/** Validates the postStart and preStop hooks of a container. */
export function lifecycleErrors(container: core.Container, path: FieldPath, grace: Grace): FieldError[] {
  const lifecycle = container.lifecycle;
  return (['postStart', 'preStop'] as const).flatMap((name) => {
    const handler = lifecycle?.[name];
    return handler === undefined ? [] : handlerErrors(handler, path.child('lifecycle', name), grace, HOOKED);
  });
}
