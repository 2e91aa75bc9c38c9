import { ApiError, newBadRequest } from '../../../apimachinery/meta/errors.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import type { AuthorizerAttributes } from '../../../authorization/authorizer/interfaces.js';
import type { UserInfo } from '../../../authentication/user/user.js';
import { headerText } from '../../../util/text/header-text.js';
import { timed } from '../../../util/metrics/stopwatch.js';
import { unescapePath } from '../../../go/unescape-path.js';
import { attributesOf } from '../access/authorization.js';
import type { ChainConfig, Step } from '../chain-config.js';
import type { Exchange } from '../exchange.js';
import { ImpersonationModes } from './impersonation-modes.js';

const EXTRA_PREFIX = 'impersonate-extra-';

/**
 * Returns the user that the headers request, unchanged; undefined if they request none. Throws a 400 for other impersonation
 * headers without a user name.
 */
export function wantedUser(rawHeaders: readonly string[]): UserInfo | undefined {
  let user: string | undefined;
  let uid: string | undefined;
  const groups: string[] = [];
  const extra: Record<string, string[]> = {};
  let parts = false;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const key = (rawHeaders[i] ?? '').toLowerCase();
    if (!key.startsWith('impersonate-')) continue;
    const value = headerText(rawHeaders[i + 1] ?? '');
    // The first one counts, even if it is empty.
    if (key === 'impersonate-user') user ??= value;
    else if (key === 'impersonate-uid') uid ??= value;
    else if (key === 'impersonate-group') groups.push(value);
    else if (key.startsWith(EXTRA_PREFIX)) {
      const encoded = key.slice(EXTRA_PREFIX.length);
      const name = unescapePath(encoded) ?? encoded;
      // Clients choose the keys: `constructor` is a key like any other.
      if (Object.hasOwn(extra, name)) extra[name]?.push(value);
      else extra[name] = [value];
      parts = true;
    }
  }
  uid ??= '';
  parts ||= uid !== '' || groups.length > 0;
  if (user !== undefined && user !== '') return { name: user, uid, groups, extra };
  if (parts) throw newBadRequest(`requested ${goUser(uid, groups, extra)} without impersonating a user name`);
  return undefined;
}

/** Formats the user like Go's `%#v`. */
function goUser(uid: string, groups: readonly string[], extra: Readonly<Record<string, readonly string[]>>): string {
  const list = (values: readonly string[]): string => `[]string{${values.map(quote).join(', ')}}`;
  const keys = Object.keys(extra).sort();
  const map =
    keys.length === 0
      ? 'map[string][]string(nil)'
      : `map[string][]string{${keys.map((key) => `${quote(key)}:${list(extra[key] ?? [])}`).join(', ')}}`;
  const shown = groups.length === 0 ? '[]string(nil)' : list(groups);
  return `&user.DefaultInfo{Name:"", UID:${quote(uid)}, Groups:${shown}, Extra:${map}}`;
}

/** Reports cheaply whether any header requests impersonation. */
function asksForImpersonation(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const key = rawHeaders[i];
    if (key === undefined || key.length < 15) continue;
    const letter = key.charCodeAt(0);
    if ((letter === 0x49 || letter === 0x69) && key.slice(0, 12).toLowerCase() === 'impersonate-') return true;
  }
  return false;
}

/** Impersonates another user if the headers request it and the authorizer allows it. */
export function withImpersonation(next: Step, config: ChainConfig): Step {
  const modes = new ImpersonationModes(config.authorizer, config.gates.enabled('ConstrainedImpersonation'));
  const respond = (exchange: Exchange, error: ApiError): void => {
    exchange.response.setHeader('X-Content-Type-Options', 'nosniff');
    config.writeStatus(exchange, error);
  };
  const impersonate = async (exchange: Exchange, wanted: UserInfo): Promise<void> => {
    const attributes: AuthorizerAttributes = attributesOf(exchange, config);
    const outcome = await timed(exchange.stopwatch, 'impersonation', () =>
      modes.resolve(wanted, attributes, exchange.signal),
    );
    if (exchange.timedOut) return;
    if (outcome instanceof ApiError) {
      config.metrics.impersonated('', 'denied');
      respond(exchange, outcome);
      return;
    }
    config.metrics.impersonated(outcome.mode, 'allowed');
    exchange.user = outcome.user;
    if (outcome.mode !== 'legacy') exchange.impersonationConstraint = `impersonate:${outcome.mode}`;
    await next(exchange);
  };
  return (exchange) => {
    if (!asksForImpersonation(exchange.rawHeaders)) return next(exchange);
    let wanted: UserInfo | undefined;
    try {
      wanted = wantedUser(exchange.rawHeaders);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      respond(exchange, error);
      return undefined;
    }
    return wanted === undefined ? next(exchange) : impersonate(exchange, wanted);
  };
}
