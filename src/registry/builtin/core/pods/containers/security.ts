import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  Printed,
  required,
  tooLong,
} from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, stringsOf, textAt } from '../../../../../apimachinery/json/json.js';
import { internalJson } from '../../../../../apimachinery/scheme/internal-diff.js';
import { choice, choiceIfSet, descendingPathErrors, eachErrors, idErrors, itemErrors } from '../../../shared/checks.js';
import { windowsOptionErrors } from './windows.js';

const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const PATH_MAX = 4095;

function seccompErrors(profile: JsonObject | undefined, path: FieldPath): FieldError[] {
  if (profile === undefined) return [];
  const type = textAt(profile, 'type');
  const errors = choice(type, path.child('type'), PROFILES, 'type is required when seccompProfile is set');
  const local = profile['localhostProfile'];
  const at = path.child('localhostProfile');
  if (type === 'Localhost') {
    if (typeof local === 'string') errors.push(...descendingPathErrors(local, at));
    else errors.push(required(at, 'must be set when seccomp type is Localhost'));
  } else if (typeof local === 'string') {
    const shown = new Printed(internalJson('PodSpec', ['SecurityContext', 'SeccompProfile'], profile));
    errors.push(invalid(at, shown, 'can only be set when seccomp type is Localhost'));
  }
  return errors;
}

/** Validates an AppArmor profile of a pod or container. */
export function appArmorErrors(profile: JsonObject | undefined, path: FieldPath): FieldError[] {
  if (profile === undefined) return [];
  const type = textAt(profile, 'type');
  const local = profile['localhostProfile'];
  const at = path.child('localhostProfile');
  if (type !== 'Localhost') {
    const errors = choice(type, path.child('type'), PROFILES, 'type is required when appArmorProfile is set');
    if (errors.length === 0 && typeof local === 'string') {
      errors.push(invalid(at, local, 'can only be set when AppArmor type is Localhost'));
    }
    return errors;
  }
  const missing = required(at, 'must be set when AppArmor type is Localhost');
  if (typeof local !== 'string') return [missing];
  const errors: FieldError[] = [];
  if (local.trim() !== local) errors.push(invalid(at, local, 'must not be padded with whitespace'));
  else if (local === '') errors.push(missing);
  if (Buffer.byteLength(local) > PATH_MAX) errors.push(tooLong(at, PATH_MAX));
  return errors;
}

function procMountErrors(context: JsonObject, path: FieldPath, hostUsers: boolean): FieldError[] {
  const mount = context['procMount'];
  if (typeof mount !== 'string') return [];
  const at = path.child('procMount');
  const errors = choiceIfSet(mount, at, ['Default', 'Unmasked']);
  const why = '`hostUsers` must be false to use `Unmasked`';
  return hostUsers && mount === 'Unmasked' ? [...errors, invalid(at, mount, why)] : errors;
}

function escalationErrors(context: JsonObject, path: FieldPath): FieldError[] {
  if (context['allowPrivilegeEscalation'] !== false) return [];
  const refuse = (what: string): FieldError => {
    const shown = new Printed(internalJson('PodSpec', ['Containers', 'SecurityContext'], context));
    return invalid(path, shown, `cannot set \`allowPrivilegeEscalation\` to false and ${what}`);
  };
  const errors = context['privileged'] === true ? [refuse('`privileged` to true')] : [];
  const added = stringsOf(objectAt(context, 'capabilities')?.['add']).filter((name) => name === 'CAP_SYS_ADMIN');
  return [...errors, ...added.map(() => refuse('`capabilities.Add` CAP_SYS_ADMIN'))];
}

/** Validates the security context of a container. Privileged ones are not allowed, as in a kube-apiserver without further flags. */
export function containerSecurityErrors(container: JsonObject, path: FieldPath, hostUsers: boolean): FieldError[] {
  const context = objectAt(container, 'securityContext');
  if (context === undefined) return [];
  const errors =
    context['privileged'] === true ? [forbidden(path.child('privileged'), 'disallowed by cluster policy')] : [];
  return [
    ...errors,
    ...idErrors(context['runAsUser'], path.child('runAsUser')),
    ...idErrors(context['runAsGroup'], path.child('runAsGroup')),
    ...procMountErrors(context, path, hostUsers),
    ...seccompErrors(objectAt(context, 'seccompProfile'), path.child('seccompProfile')),
    ...escalationErrors(context, path),
    ...windowsOptionErrors(objectAt(context, 'windowsOptions'), path.child('windowsOptions')),
    ...appArmorErrors(objectAt(context, 'appArmorProfile'), path.child('appArmorProfile')),
  ];
}

const SYSCTL = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const SYSCTL_MAX = 253;

/** Reports whether a name consists of segments of letters and digits, with dashes and underscores between them. */
function isSysctl(name: string): boolean {
  return (
    name.length <= SYSCTL_MAX && name.split(/[./]/).every((part) => /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/.test(part))
  );
}

/** The kernel parameters in the IPC namespace. */
const IPC = new Set(
  ['sem', 'shmall', 'shmmax', 'shmmni', 'shm_rmid_forced', 'shm', 'msgmax', 'msgmnb', 'msgmni', 'msg'].map(
    (name) => `kernel.${name}`,
  ),
);

/** Returns the namespace of a kernel parameter. Dots and slashes are swapped if a slash comes first. */
function namespaceOf(sysctl: string): 'net' | 'ipc' | undefined {
  const slashed = /^[^.]*\//.test(sysctl);
  const name = slashed ? sysctl.replace(/[./]/g, (c) => (c === '.' ? '/' : '.')) : sysctl;
  if (IPC.has(name) || name.startsWith('fs.mqueue.')) return 'ipc';
  return name.startsWith('net.') ? 'net' : undefined;
}

function sysctlErrors(context: JsonObject, spec: JsonObject, path: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return itemErrors(context, 'sysctls', path, (sysctl, sysctlPath) => {
    const name = textAt(sysctl, 'name');
    const at = sysctlPath.child('name');
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(at));
    else if (!isSysctl(name)) {
      const why = `must have at most ${String(SYSCTL_MAX)} characters and match regex ${SYSCTL}`;
      errors.push(invalid(at, name, why));
    } else if (seen.has(name)) errors.push(duplicate(at, name));
    seen.add(name);
    const namespace = namespaceOf(name);
    if (namespace === 'net' && spec['hostNetwork'] === true) {
      errors.push(invalid(at, name, "may not be specified when 'hostNetwork' is true"));
    } else if (namespace === 'ipc' && spec['hostIPC'] === true) {
      errors.push(invalid(at, name, "may not be specified when 'hostIPC' is true"));
    }
    return errors;
  });
}

/** Refuses a process namespace that the containers share, in a pod that has that of the host. */
export function sharedProcessErrors(spec: JsonObject, path: FieldPath): FieldError[] {
  if (spec['shareProcessNamespace'] !== true || spec['hostPID'] !== true) return [];
  const why = 'ShareProcessNamespace and HostPID cannot both be enabled';
  return [invalid(path.child('shareProcessNamespace'), true, why)];
}

/** Validates the security context of a pod. */
export function podSecurityErrors(spec: JsonObject, path: FieldPath): FieldError[] {
  const context = objectAt(spec, 'securityContext') ?? {};
  const errors = ['fsGroup', 'runAsUser', 'runAsGroup'].flatMap((field) => idErrors(context[field], path.child(field)));
  const groups = context['supplementalGroups'];
  if (Array.isArray(groups)) errors.push(...eachErrors(groups, path.child('supplementalGroups'), idErrors));
  return [
    ...errors,
    ...sysctlErrors(context, spec, path),
    ...choiceIfSet(context['fsGroupChangePolicy'], path.child('fsGroupChangePolicy'), ['Always', 'OnRootMismatch']),
    ...seccompErrors(objectAt(context, 'seccompProfile'), path.child('seccompProfile')),
    ...windowsOptionErrors(objectAt(context, 'windowsOptions'), path.child('windowsOptions')),
    ...appArmorErrors(objectAt(context, 'appArmorProfile'), path.child('appArmorProfile')),
    ...choiceIfSet(context['supplementalGroupsPolicy'], path.child('supplementalGroupsPolicy'), ['Merge', 'Strict']),
    ...choiceIfSet(context['seLinuxChangePolicy'], path.child('seLinuxChangePolicy'), ['MountOption', 'Recursive']),
  ];
}
