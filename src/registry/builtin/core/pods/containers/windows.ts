import { type FieldError, type FieldPath, forbidden, invalid } from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import { emptyMembersOf } from '../../../../../apimachinery/scheme/empty-members.js';
import { subdomainErrors } from '../../../../../apimachinery/validation/name-errors.js';

const MAX_SPEC = 64 * 1024;
const MAX_DOMAIN = 256;
const MAX_USER = 104;

const NETBIOS = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DNS_LABEL = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/;

/** Returns the faults of a user name, which may follow a domain and a backslash. */
function userProblems(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string'];

  if (/[\u0000-\u001f\u007f]/.test(name)) return ['runAsUserName cannot contain control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const user = parts[parts.length - 1] ?? '';
  const domain = parts.length === 2 ? (parts[0] ?? '') : undefined;
  const problems: string[] = [];
  if (domain !== undefined) {
    if (Buffer.byteLength(domain) >= MAX_DOMAIN) {
      problems.push(`runAsUserName's Domain length must be under ${String(MAX_DOMAIN)} characters`);
    }
    if (!NETBIOS.test(domain) && !domain.split('.').every((label) => DNS_LABEL.test(label))) {
      problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    }
  }
  if (user === '') problems.push("runAsUserName's User cannot be empty");
  else if (Buffer.byteLength(user) > MAX_USER) {
    problems.push(`runAsUserName's User length must not be longer than ${String(MAX_USER)} characters`);
  }
  if (/^[. ]+$/.test(user)) problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    problems.push('runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]');
  }
  return problems;
}

/** Validates the options of Windows containers. */
export function windowsOptionErrors(options: JsonObject | undefined, path: FieldPath): FieldError[] {
  if (options === undefined) return [];
  const errors: FieldError[] = [];
  const name = options['gmsaCredentialSpecName'];
  if (typeof name === 'string') errors.push(...subdomainErrors(name, path.child('gmsaCredentialSpecName')));
  const spec = options['gmsaCredentialSpec'];
  if (typeof spec === 'string') {
    const at = path.child('gmsaCredentialSpec');
    if (spec === '') errors.push(invalid(at, spec, 'gmsaCredentialSpec cannot be an empty string'));
    else if (Buffer.byteLength(spec) > MAX_SPEC) {
      errors.push(invalid(at, spec, `gmsaCredentialSpec size must be under ${String(MAX_SPEC / 1024)} KiB`));
    }
  }
  const user = options['runAsUserName'];
  if (typeof user !== 'string') return errors;
  return [...errors, ...userProblems(user).map((why) => invalid(path.child('runAsUserName'), user, why))];
}

type Containers = readonly (readonly [container: JsonObject, path: FieldPath])[];

const contextOf = (holder: JsonObject): JsonObject => objectAt(holder, 'securityContext') ?? {};
const optionsOf = (holder: JsonObject): JsonObject | undefined => objectAt(contextOf(holder), 'windowsOptions');

/** Requires either all containers of a pod or none to be host processes. */
export function hostProcessErrors(spec: JsonObject, containers: Containers, path: FieldPath): FieldError[] {
  const whole = optionsOf(spec)?.['hostProcess'];
  const errors: FieldError[] = [];
  let count = 0;
  for (const [container, at] of containers) {
    const own = optionsOf(container)?.['hostProcess'];
    if (typeof whole === 'boolean' && typeof own === 'boolean' && whole !== own) {
      const why = `pod hostProcess value must be identical if both are specified, was ${String(whole)}`;
      errors.push(invalid(at.child('securityContext', 'windowsOptions', 'hostProcess'), own, why));
    }
    if ((own ?? whole) === true) count++;
  }
  if (count === 0) return errors;
  if (count !== containers.length) {
    const why = 'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    errors.push(invalid(path, '', why));
  }
  if (spec['hostNetwork'] !== true) {
    const why = 'hostNetwork must be true if pod contains any hostProcess containers';
    errors.push(invalid(path.child('hostNetwork'), false, why));
  }
  return [...errors, forbidden(path, 'hostProcess containers are disallowed by cluster policy')];
}

/** The fields that Windows pods cannot have, in the order of their errors: those of the spec, then those of a container's security context. */
const POD_FIELDS = [
  'securityContext.appArmorProfile',
  'securityContext.seLinuxOptions',
  'securityContext.seccompProfile',
  'securityContext.fsGroup',
  'securityContext.fsGroupChangePolicy',
  'securityContext.sysctls',
  'securityContext.runAsUser',
  'securityContext.runAsGroup',
  'securityContext.supplementalGroups',
  'securityContext.supplementalGroupsPolicy',
  'securityContext.seLinuxChangePolicy',
  'hostUsers',
  'hostPID',
  'hostIPC',
  'shareProcessNamespace',
];
const CONTAINER_FIELDS = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];

function isSet(spec: JsonObject, field: string): boolean {
  const [name = '', member] = field.split('.');
  if (member === undefined) {
    return field === 'hostPID' || field === 'hostIPC' ? spec[name] === true : typeof spec[name] === 'boolean';
  }
  const context = contextOf(spec);
  const value = context[member];
  if (member === 'sysctls') return Array.isArray(value) && value.length > 0;
  const empty = member === 'supplementalGroups' ? emptyMembersOf(context)?.[member] : undefined;
  return (value ?? empty ?? null) !== null;
}

/** Rejects the fields that a pod of the given operating system cannot have. */
export function osErrors(spec: JsonObject, containers: Containers, path: FieldPath, os: string): FieldError[] {
  if (os === 'windows') {
    const why = 'cannot be set for a windows pod';
    return [
      ...POD_FIELDS.filter((field) => isSet(spec, field)).map((field) => forbidden(path.child(field), why)),
      ...containers.flatMap(([container, at]) =>
        CONTAINER_FIELDS.filter((field) => (contextOf(container)[field] ?? null) !== null).map((field) =>
          forbidden(at.child('securityContext', field), why),
        ),
      ),
    ];
  }
  return [[spec, path] as const, ...containers].flatMap(([holder, at]) =>
    optionsOf(holder) === undefined
      ? []
      : [forbidden(at.child('securityContext', 'windowsOptions'), 'windows options cannot be set for a linux pod')],
  );
}
