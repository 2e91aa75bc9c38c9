import { type JsonObject, objectAt, stringAt, stringsOf, textAt } from '../../apimachinery/json/json.js';
import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';
import { ALL_AUTHENTICATED, type UserInfo } from '../../authentication/user/user.js';

/** The spec of an ObjectRestore. */
export interface RestoreSpec {
  readonly resource: GroupResource;
  readonly namespace: string;
  readonly names: readonly string[] | undefined;
  readonly labelSelector: JsonObject | undefined;
  readonly where: string;
  /** Milliseconds since the epoch; 0 for all. */
  readonly deletedSince: number;
  readonly to: { readonly revision: number } | { readonly time: number } | undefined;
  readonly as: { readonly name: string; readonly namespace: string };
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly withoutFinalizers: boolean;
  readonly contents: boolean;
}

/** Reads the spec of a valid ObjectRestore. */
export function readSpec(restore: KubeObject): RestoreSpec {
  const spec = objectAt(restore, 'spec');
  const type = objectAt(spec, 'resource');
  const as = objectAt(spec, 'as');
  const names = spec?.['names'];
  return {
    resource: { group: textAt(type, 'group'), resource: textAt(type, 'resource') },
    namespace: textAt(spec, 'namespace'),
    names: names === undefined ? undefined : [...new Set(stringsOf(names))],
    labelSelector: objectAt(spec, 'labelSelector'),
    where: textAt(spec, 'where'),
    deletedSince: timeAt(spec, 'deletedSince') ?? 0,
    to: toOf(objectAt(spec, 'to')),
    as: { name: textAt(as, 'name'), namespace: textAt(as, 'namespace') },
    dryRun: spec?.['dryRun'] === true,
    force: spec?.['force'] === true,
    withoutFinalizers: spec?.['withoutFinalizers'] === true,
    contents: spec?.['contents'] === true,
  };
}

function toOf(to: JsonObject | undefined): RestoreSpec['to'] {
  if (to === undefined) return undefined;
  const time = timeAt(to, 'time');
  return time === undefined ? { revision: Number(textAt(to, 'revision')) } : { time };
}

function timeAt(parent: JsonObject | undefined, key: string): number | undefined {
  const text = stringAt(parent, key);
  return text === undefined ? undefined : Date.parse(text);
}

/** Returns the user who created a restore; undefined if nobody recorded it. */
export function creatorOf(restore: KubeObject): UserInfo | undefined {
  const user = objectAt(objectAt(restore, 'spec'), 'createdBy');
  const name = textAt(user, 'username');
  if (name === '') return undefined;
  const extra = objectAt(user, 'extra') ?? {};
  return {
    name,
    uid: textAt(user, 'uid'),
    groups: Array.isArray(user?.['groups']) ? stringsOf(user['groups']) : [ALL_AUTHENTICATED],
    extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, stringsOf(values)])),
  };
}
