import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { VersionView } from '../../registry/rest/interfaces.js';
import type { WatchEvent } from '../../storage/cacher/interfaces.js';
import type { ResponseConventions } from './conventions.js';

/** The annotation of the bookmark that ends the initial events: all objects that existed when the watch began have been sent. */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Builds the object of a BOOKMARK event. */
export function bookmarkObject(
  view: VersionView,
  { revision, initialEventsEnd }: Pick<WatchEvent, 'revision' | 'initialEventsEnd'>,
  conventions: ResponseConventions,
): KubeObject {
  const { kind } = view.type;
  return {
    kind,
    apiVersion: view.groupVersion,
    metadata: {
      resourceVersion: String(revision),
      ...(initialEventsEnd ? { annotations: { [INITIAL_EVENTS_END]: 'true' } } : {}),
    },
    ...conventions.emptyFields(view),
  };
}
