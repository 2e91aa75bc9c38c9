import { NEVER_ABORTED } from '../../util/never-aborted.js';
import {
  AuthenticationError,
  type AuthenticationRequest,
  type AuthenticationResponse,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import { known } from './bearer-token.js';
import { hasListItem, listItems } from '../../util/text/header-list.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

const PREFIX = 'base64url.bearer.authorization.k8s.io.';

/** Reports whether the subprotocol carries a bearer token. */
export const bearerProtocol = (protocol: string): boolean => protocol.startsWith(PREFIX);

export function isWebSocketRequest({ headers }: Pick<AuthenticationRequest, 'headers'>): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && hasListItem(headers.connection ?? '', 'upgrade');
}

/** Authenticates a token among the subprotocols of a WebSocket request: browsers cannot send any other header. */
export class WebSocketProtocolAuthenticator implements RequestAuthenticator {
  constructor(private readonly tokens: TokenAuthenticator) {}

  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined> {
    if (request.headers.upgrade === undefined || !isWebSocketRequest(request)) return undefined;
    let token: string | undefined;
    let others = 0;
    for (const protocol of listItems(request.headers['sec-websocket-protocol'] ?? '')) {
      if (!bearerProtocol(protocol)) {
        if (protocol !== '') others++;
        continue;
      }
      if (token !== undefined) throw new AuthenticationError('multiple base64.bearer.authorization tokens specified');
      token = decode(protocol.slice(PREFIX.length));
    }
    if (token === undefined || token === '') return undefined;
    if (others === 0) throw new AuthenticationError('missing additional subprotocol');
    return known(this.tokens.authenticateToken(token, [], NEVER_ABORTED));
  }
}

function decode(encoded: string): string {
  if (!/^[A-Za-z0-9_-]*$/.test(encoded) || encoded.length % 4 === 1) {
    throw new AuthenticationError('invalid base64.bearer.authorization token encoding');
  }
  const bytes = Buffer.from(encoded, 'base64url');
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes))
    throw new AuthenticationError('invalid base64.bearer.authorization token');
  return text;
}
