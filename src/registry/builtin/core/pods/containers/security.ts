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
import { internalJson } from '../../../../../apimachinery/scheme/internal-diff.js';
import type * as core from '../../../../../apimachinery/generated/core.js';
import {
  choice,
  choiceIfSet,
  descendingPathErrors,
  eachErrors,
  fieldErrors,
  idErrors,
  itemErrors,
  oneOf,
} from '../../../shared/checks.js';
import { windowsOptionErrors } from './windows.js';

const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const PATH_MAX = 4095;

function seccompErrors(profile: core.SeccompProfile | undefined, path: FieldPath): FieldError[] {
  if (profile === undefined) return [];
  const type = profile.type ?? '';
  const errors = choice(type, path.child('type'), PROFILES, 'type is required when seccompProfile is set');
  const local = profile.localhostProfile;
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
export function appArmorErrors(profile: core.AppArmorProfile | undefined, path: FieldPath): FieldError[] {
  if (profile === undefined) return [];
  const type = profile.type ?? '';
  const local = profile.localhostProfile;
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

function procMountErrors(context: core.SecurityContext, path: FieldPath, hostUsers: boolean): FieldError[] {
  const mount = context.procMount;
  if (typeof mount !== 'string') return [];
  const at = path.child('procMount');
  const errors = choiceIfSet(mount, at, ['Default', 'Unmasked']);
  const why = '`hostUsers` must be false to use `Unmasked`';
  return hostUsers && mount === 'Unmasked' ? [...errors, invalid(at, mount, why)] : errors;
}

function escalationErrors(context: core.SecurityContext, path: FieldPath): FieldError[] {
  if (context.allowPrivilegeEscalation !== false) return [];
  const refuse = (what: string): FieldError => {
    const shown = new Printed(internalJson('PodSpec', ['Containers', 'SecurityContext'], context));
    return invalid(path, shown, `cannot set \`allowPrivilegeEscalation\` to false and ${what}`);
  };
  const errors = context.privileged === true ? [refuse('`privileged` to true')] : [];
  const added = (context.capabilities?.add ?? []).filter((name) => name === 'CAP_SYS_ADMIN');
  return [...errors, ...added.map(() => refuse('`capabilities.Add` CAP_SYS_ADMIN'))];
}

/** Validates the security context of a container. Privileged ones are not allowed, as in a kube-apiserver without further flags. */
export function containerSecurityErrors(container: core.Container, path: FieldPath, hostUsers: boolean): FieldError[] {
  const context = container.securityContext;
  if (context === undefined) return [];
  return fieldErrors(context, path, {
    privileged: (given, at) => (given === true ? [forbidden(at, 'disallowed by cluster policy')] : []),
    runAsUser: idErrors,
    runAsGroup: idErrors,
    procMount: () => procMountErrors(context, path, hostUsers),
    seccompProfile: seccompErrors,
    allowPrivilegeEscalation: () => escalationErrors(context, path),
    windowsOptions: windowsOptionErrors,
    appArmorProfile: appArmorErrors,
  });
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

function sysctlErrors(context: core.PodSecurityContext, spec: core.PodSpec, path: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return itemErrors(context, 'sysctls', path, (sysctl, sysctlPath) => {
    const name = sysctl.name ?? '';
    const at = sysctlPath.child('name');
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(at));
    else if (!isSysctl(name)) {
      const why = `must have at most ${String(SYSCTL_MAX)} characters and match regex ${SYSCTL}`;
      errors.push(invalid(at, name, why));
    } else if (seen.has(name)) errors.push(duplicate(at, name));
    seen.add(name);
    const namespace = namespaceOf(name);
    if (namespace === 'net' && spec.hostNetwork === true) {
      errors.push(invalid(at, name, "may not be specified when 'hostNetwork' is true"));
    } else if (namespace === 'ipc' && spec.hostIPC === true) {
      errors.push(invalid(at, name, "may not be specified when 'hostIPC' is true"));
    }
    return errors;
  });
}

/** Refuses a process namespace that the containers share, in a pod that has that of the host. */
export function sharedProcessErrors(spec: core.PodSpec, path: FieldPath): FieldError[] {
  if (spec.shareProcessNamespace !== true || spec.hostPID !== true) return [];
  const why = 'ShareProcessNamespace and HostPID cannot both be enabled';
  return [invalid(path.child('shareProcessNamespace'), true, why)];
}

/** Validates the security context of a pod. */
export function podSecurityErrors(spec: core.PodSpec, path: FieldPath): FieldError[] {
  const context: core.PodSecurityContext = spec.securityContext ?? {};
  return fieldErrors(context, path, {
    fsGroup: idErrors,
    runAsUser: idErrors,
    runAsGroup: idErrors,
    supplementalGroups: (groups, at) => eachErrors(groups, at, idErrors),
    sysctls: () => sysctlErrors(context, spec, path),
    fsGroupChangePolicy: oneOf('Always', 'OnRootMismatch'),
    seccompProfile: seccompErrors,
    windowsOptions: windowsOptionErrors,
    appArmorProfile: appArmorErrors,
    supplementalGroupsPolicy: oneOf('Merge', 'Strict'),
    seLinuxChangePolicy: oneOf('MountOption', 'Recursive'),
  });
}
