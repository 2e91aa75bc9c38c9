import type { GroupVersion, KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../../request/context.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { validateEventCreate, validateEventUpdate } from './validation.js';

const requestVersion = (context: RequestContext): GroupVersion => ({
  group: context.info.apiGroup,
  version: context.info.apiVersion,
});

/** `toStored` converts an event to its stored form, for which the rules are written, if a version shows events in another form. */
export const eventStrategy = (toStored: (event: KubeObject) => KubeObject = (event) => event): Strategy => ({
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validateCreate: (context, event) => validateEventCreate(toStored(event), requestVersion(context)),
  validateUpdate: (context, event, old) => validateEventUpdate(toStored(event), toStored(old), requestVersion(context)),
});
