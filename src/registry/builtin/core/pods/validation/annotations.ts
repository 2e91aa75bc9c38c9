import { isDeepStrictEqual } from 'node:util';
import { type FieldError, FieldPath, forbidden, invalid } from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, textAt, textOf } from '../../../../../apimachinery/json/json.js';
import { type KubeObject, quote } from '../../../../../apimachinery/meta/meta.js';
import { descendingPathErrors } from '../../../shared/checks.js';
import { allContainers } from '../containers/container-lists.js';
import { MIRROR_ANNOTATION } from '../fields.js';
import { appArmorErrors } from '../containers/security.js';

const ANNOTATIONS = FieldPath.of('metadata', 'annotations');
const COST = 'controller.kubernetes.io/pod-deletion-cost';
export const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
export const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';
const INT32 = 2 ** 31;

const isCost = (text: string): boolean =>
  /^(?:0|-[0-9]+|[1-9][0-9]*)$/.test(text) && Number(text) < INT32 && Number(text) >= -INT32;

function seccompErrors(profile: string, path: FieldPath): FieldError[] {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return [];
  return profile.startsWith('localhost/')
    ? descendingPathErrors(profile.slice('localhost/'.length), path)
    : [invalid(path, profile, 'must be a valid seccomp profile')];
}

/** Validates the annotations of a pod that have a meaning in Kubernetes. `old` is undefined for a create. */
export function annotationErrors(pod: KubeObject, old: KubeObject | undefined): FieldError[] {
  const annotations = pod.metadata.annotations ?? {};
  const spec = objectAt(pod, 'spec') ?? {};
  const errors: FieldError[] = [];
  const mirror = annotations[MIRROR_ANNOTATION];
  if (mirror !== undefined && textAt(spec, 'nodeName') === '') {
    errors.push(
      invalid(ANNOTATIONS.key(MIRROR_ANNOTATION), mirror, 'must set spec.nodeName if mirror pod annotation is set'),
    );
  }
  const cost = annotations[COST];
  const before = old?.metadata.annotations?.[COST];
  if (cost !== undefined && !isCost(cost) && (before === undefined || isCost(before))) {
    errors.push(invalid(ANNOTATIONS.key(COST), cost, 'must be a 32bit integer'));
  }
  const whole = annotations[SECCOMP_POD];
  if (whole !== undefined) errors.push(...seccompErrors(whole, ANNOTATIONS.child(SECCOMP_POD)));
  const keys = Object.keys(annotations).sort();
  for (const key of keys.filter((one) => one.startsWith(SECCOMP_CONTAINER))) {
    errors.push(...seccompErrors(annotations[key] ?? '', ANNOTATIONS.child(key)));
  }
  const names = new Set(allContainers(spec, FieldPath.empty).map(([{ name }]) => textOf(name)));
  for (const key of keys.filter((one) => one.startsWith(APP_ARMOR))) {
    const name = key.slice(APP_ARMOR.length);
    const profile = annotations[key] ?? '';
    if (!names.has(name)) errors.push(invalid(ANNOTATIONS.key(key), name, 'container not found'));
    if (!['', 'runtime/default', 'unconfined'].includes(profile) && !profile.startsWith('localhost/')) {
      errors.push(invalid(ANNOTATIONS.key(key), profile, `invalid AppArmor profile name: ${quote(profile)}`));
    }
  }
  return errors;
}

/** Rejects changes of annotations that are immutable. */
export function annotationChangeErrors(pod: KubeObject, old: KubeObject): FieldError[] {
  const now = pod.metadata.annotations ?? {};
  const before = old.metadata.annotations ?? {};
  const fixed = (key: string): string | undefined =>
    key.startsWith(APP_ARMOR)
      ? 'AppArmor annotations'
      : key === MIRROR_ANNOTATION
        ? 'mirror pod annotation'
        : undefined;
  const errors = (keys: readonly string[], verb: string): FieldError[] =>
    keys.flatMap((key) => {
      const what = fixed(key);
      return what === undefined ? [] : [forbidden(ANNOTATIONS.key(key), `may not ${verb} ${what}`)];
    });
  return [
    ...errors(
      Object.keys(before).filter((key) => now[key] !== before[key]),
      'remove or update',
    ),
    ...errors(
      Object.keys(now).filter((key) => !Object.hasOwn(before, key)),
      'add',
    ),
  ];
}

/** Requires the annotations and fields of a created pod to specify the same profiles. */
export function profileMatchErrors(pod: KubeObject): FieldError[] {
  const spec = objectAt(pod, 'spec') ?? {};
  const at = FieldPath.of('spec');
  const annotations = pod.metadata.annotations ?? {};
  const containers = allContainers(spec, at);
  const own = (holder: JsonObject, name: string): JsonObject | undefined =>
    objectAt(objectAt(holder, 'securityContext'), name);
  const errors = [
    [SECCOMP_POD, spec, at] as const,
    ...containers.map(([one, path]) => [`${SECCOMP_CONTAINER}${textAt(one, 'name')}`, one, path] as const),
  ].flatMap(([key, holder, path]) =>
    mismatch(
      'seccomp',
      annotations[key],
      own(holder, 'seccompProfile'),
      path.child('securityContext', 'seccompProfile'),
    ),
  );
  if (objectAt(spec, 'os')?.['name'] === 'windows') return errors;
  const shared = own(spec, 'appArmorProfile');
  return [
    ...errors,
    ...containers.flatMap(([one, path]) => {
      const profile = own(one, 'appArmorProfile') ?? shared;
      const given = annotations[`${APP_ARMOR}${textAt(one, 'name')}`];
      return mismatch('apparmor', given, profile, path.child('securityContext', 'appArmorProfile'));
    }),
  ];
}

function profileOf(annotation: string): JsonObject | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  const local = annotation.startsWith('localhost/') ? annotation.slice('localhost/'.length) : '';
  return local === '' ? undefined : { type: 'Localhost', localhostProfile: local };
}

/** Copies the AppArmor profiles in annotations to the fields of containers, unless the container has a profile or the pod has the same one. */
export function appArmorAnnotationsToFields(pod: KubeObject, warn: (text: string) => void): void {
  const spec = objectAt(pod, 'spec') ?? {};
  if (objectAt(spec, 'os')?.['name'] === 'windows') return;
  const shared = objectAt(objectAt(spec, 'securityContext'), 'appArmorProfile');
  for (const [container] of allContainers(spec, FieldPath.empty)) {
    const key = `${APP_ARMOR}${textAt(container, 'name')}`;
    const annotation = pod.metadata.annotations?.[key];
    const context = objectAt(container, 'securityContext');
    if (annotation === undefined || objectAt(context, 'appArmorProfile') !== undefined) continue;
    const named = profileOf(annotation);
    const profile = appArmorErrors(named, FieldPath.empty).length > 0 ? undefined : named;
    if (profile !== undefined) {
      if (isDeepStrictEqual(profile, shared)) continue;
      container['securityContext'] = { ...context, appArmorProfile: profile };
    }
    warn(`${ANNOTATIONS.key(key).toString()}: deprecated since v1.30; use the "appArmorProfile" field instead`);
  }
}

function mismatch(
  what: 'seccomp' | 'apparmor',
  given: string | undefined,
  profile: JsonObject | undefined,
  path: FieldPath,
): FieldError[] {
  if (given === undefined || profile === undefined) return [];
  const type = profile['type'];
  const wrongType = [forbidden(path.child('type'), `${what} type in annotation and field must match`)];
  if (type === 'Unconfined') return given === 'unconfined' ? [] : wrongType;
  if (type === 'RuntimeDefault') {
    return given === 'runtime/default' || (what === 'seccomp' && given === 'docker/default') ? [] : wrongType;
  }
  if (type !== 'Localhost') return [];
  if (!given.startsWith('localhost/')) return wrongType;
  return profile['localhostProfile'] === given.slice('localhost/'.length)
    ? []
    : [forbidden(path.child('localhostProfile'), `${what} profile in annotation and field must match`)];
}
