import { managerOrUserAgent } from '../../../managedfields/manager-name.js';
import type { RequestContext } from '../../../request/context.js';
import type { Author } from '../../../storage/kept/interfaces.js';

/** Returns who makes the writes of a request, for the history. */
export function authorOf({ user, requestor, userAgent, fieldManager = '', auditId }: RequestContext): Author {
  return {
    user: user.name,
    manager: managerOrUserAgent(fieldManager, userAgent),
    userAgent,
    auditID: auditId,
    impersonator: requestor === undefined || requestor === user ? '' : requestor.name,
  };
}
