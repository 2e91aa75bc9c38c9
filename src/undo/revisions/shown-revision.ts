import { isObject, type JsonObject, objectAt, textAt } from '../../apimachinery/json/json.js';
import { parseJson } from '../../apimachinery/json/decode.js';
import { formatTime, type KubeObject, parseGroupVersion } from '../../apimachinery/meta/meta.js';
import { splitKey } from '../../registry/generic/store/resource-store.js';
import { ComputedObject } from '../../registry/generic/computed.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { KeptContent, KeptEntry } from '../../storage/kept/interfaces.js';
import { GROUP, revisionName, revisionUid, typeOfName, VERSION } from '../names.js';
import type { ChangedFields } from './changed-fields.js';

/** The fields of an ObjectRevision that selectors may use besides name and namespace. */
export const SELECTABLE = ['object.resource', 'object.name', 'object.namespace', 'object.uid', 'operation', 'by.user'];

/** Decodes a kept state; undefined if it cannot be read. */
export function decodeContent({ bytes, unreadable }: KeptContent): KubeObject | undefined {
  if (unreadable !== undefined) return undefined;
  const tree = parseJson(bytes);
  return isObject(tree) ? (tree as KubeObject) : undefined;
}

/** An object of the kinds ObjectRevision and ClusterObjectRevision. */
export class ShownRevision extends ComputedObject {
  override readonly attributes: CachedObject['attributes'];

  constructor(entry: KeptEntry, { content, changed, whole }: RevisionParts) {
    const object = shownRevision(entry, { content, changed, whole });
    super(object, entry.revision);
    const { metadata } = object;
    const about = objectAt(object, 'object');
    this.attributes = {
      labels: metadata.labels,
      fields: {
        'metadata.name': metadata.name ?? '',
        'metadata.namespace': metadata.namespace ?? '',
        'object.resource': entry.resource,
        'object.name': textAt(about, 'name'),
        'object.namespace': textAt(about, 'namespace'),
        'object.uid': textAt(about, 'uid'),
        operation: entry.operation,
        'by.user': entry.author?.user ?? '',
      },
    };
  }
}

interface RevisionParts {
  readonly content: KubeObject | undefined;
  readonly changed: ChangedFields | undefined;
  /** True for a get, which shows the whole object. */
  readonly whole: boolean;
}

function shownRevision(entry: KeptEntry, { content, changed, whole }: RevisionParts): KubeObject {
  const { resource, key, operation, revision, time } = entry;
  const { namespace, name } = splitKey(key);
  const type = typeOfName(resource);
  const { group = type.group } = parseGroupVersion(content?.apiVersion ?? '') ?? {};
  const { labels, uid } = content?.metadata ?? {};
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: namespace === '' ? 'ClusterObjectRevision' : 'ObjectRevision',
    metadata: {
      name: revisionName(entry),
      ...(namespace !== '' && { namespace }),
      uid: revisionUid(entry),
      creationTimestamp: formatTime(time),
      ...(labels !== undefined && { labels }),
    },
    object: {
      ...(group !== '' && { group }),
      resource: type.resource,
      kind: content?.kind ?? '',
      ...(namespace !== '' && { namespace }),
      name,
      ...(uid !== undefined && { uid }),
    },
    operation,
    revision: String(revision),
    time: formatTime(time),
    ...(entry.author !== undefined && { by: byOf(entry.author) }),
    ...(changed !== undefined && changed.paths.length > 0 && { changedFields: [...changed.paths] }),
    ...(changed !== undefined && changed.more > 0 && { moreChangedFields: changed.more }),
    ...(whole && content !== undefined && { content }),
    ...(entry.content.unreadable !== undefined && { unreadable: entry.content.unreadable }),
  };
}

function byOf({ user, manager, userAgent, auditID, impersonator }: NonNullable<KeptEntry['author']>): JsonObject {
  return {
    user,
    ...(manager !== '' && { manager }),
    ...(userAgent !== '' && { userAgent }),
    ...(auditID !== '' && { auditID }),
    ...(impersonator !== '' && { impersonator }),
  };
}
