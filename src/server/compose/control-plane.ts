import { setMaxListeners } from 'node:events';
import { admissionChain } from '../../admission/chain.js';
import { AdmissionMetrics } from '../../admission/metrics.js';
import type { TokenAuthenticator } from '../../authentication/authenticator/interfaces.js';
import type { UserInfo } from '../../authentication/user/user.js';
import { authenticationReviews } from '../../registry/builtin/authentication/reviews.js';
import { authorizationReviews } from '../../registry/builtin/authorization/reviews.js';
import { LocalClients } from '../../registry/generic/loopback/local-client.js';
import type { ResourceStore } from '../../registry/generic/store/resource-store.js';
import { builtinKinds } from '../../registry/kinds.js';
import { standalonePlugins } from './admission/admission-plugins.js';
import { type Authorization, makeAuthorization } from './access/authorization.js';
import { installComputed, reviewKinds } from '../../registry/builtin/install.js';
import type { Authorities } from './startup/hook-context.js';
import { resolveByServices } from './access/conversion-webhooks.js';
import { configuredAdmission } from './admission/configured-admission.js';
import { localSources, paramAccess } from './admission/local-sources.js';
import { StandaloneHooks } from './startup/post-start-hooks.js';
import { queryKinds } from '../../views/queries.js';
import { STANDALONE } from '../../storage/mongodb/documents.js';
import { sleep } from '../../util/clock.js';
import { assemblePlane, type ControlPlane, type Foundation, openFoundation } from './plane.js';
import type { ServerContext } from './server-context.js';
import { type ServiceAccountTokens, withTokenRequests } from './access/service-account-tokens.js';

/** How long a stopping server tries to give the controllers to another one. */
const LEAVE_MILLIS = 2_000;

export interface ControlPlaneDependencies {
  /** Host and port at which clients reach the server. */
  readonly serverAddress: () => string;
  /** All token authenticators, for TokenReview; undefined if none exist. */
  readonly tokens: TokenAuthenticator | undefined;
  readonly accounts: ServiceAccountTokens;
  readonly authorities: Authorities;
}

/** The open store of standalone mode. */
export interface StandaloneStore {
  readonly foundation: Foundation;
  readonly authorization: Authorization;
  /** Ends the loops. */
  readonly stop: AbortController;
}

/** Opens the store. */
export async function openStandaloneStore(context: ServerContext): Promise<StandaloneStore> {
  const { options, clock, logger, registry } = context;
  const stop = new AbortController();
  const { signal } = stop;
  // Every loop adds a listener to this signal.
  setMaxListeners(0, signal);
  const authorization = await makeAuthorization(options, { clock, logger, registry, signal });
  const foundation = await openFoundation(context, authorization.rbac, STANDALONE);
  return { foundation, authorization, stop };
}

/**
 * Builds the registry, handlers, and controllers of standalone mode. Everything below the handler chain is constructed here and
 * nowhere else.
 */
export async function buildControlPlane(
  context: ServerContext,
  { foundation, authorization, stop }: StandaloneStore,
  dependencies: ControlPlaneDependencies,
): Promise<ControlPlane> {
  const { options, clock, logger } = context;
  const { accounts, authorities, serverAddress } = dependencies;
  const { signal } = stop;
  const { authorizer } = authorization;
  const { registry } = foundation;
  const stores = installTypes(context, dependencies, foundation, authorization);
  const clients = (fieldManager: string, user?: UserInfo): LocalClients =>
    new LocalClients({ registry, admission, clock, fieldManager, ...(user !== undefined && { user, authorizer }) });
  const own = (): LocalClients => clients('kube-apiserver');
  const webhooks = await configuredAdmission({
    options,
    clock,
    logger,
    registry: context.registry,
    resolve: resolveByServices(() => own().for({ group: '', resource: 'services' })),
  });
  const plugins = standalonePlugins({
    options,
    clock,
    logger,
    authorizer,
    sources: localSources(registry),
    stores,
    clients: own,
    metrics: context.registry,
    webhooks,
    files: webhooks.files,
  });
  const admission = admissionChain(plugins, new AdmissionMetrics(context.registry, () => clock.monotonic()));
  accounts.labelUsedSecrets(own().for({ group: '', resource: 'secrets' }));
  const standaloneHooks = new StandaloneHooks({
    ...foundation,
    options,
    clock,
    logger,
    authorization,
    authorities,
    clients,
    admission,
    signal,
  });
  return assemblePlane(context, foundation, {
    admission,
    authorizer,
    serverAddress,
    loading: standaloneHooks.loading(),
    hooks: standaloneHooks.hooks(),
    stop: async () => {
      stop.abort();
      webhooks.close();
      await Promise.race([standaloneHooks.left, sleep(clock, LEAVE_MILLIS)]);
    },
  });
}

/** Installs the built-in types: the stored ones and the reviews. */
function installTypes(
  { options, clock, extensions }: ServerContext,
  { accounts, tokens }: ControlPlaneDependencies,
  foundation: Foundation,
  { authorizer, rbac, ruleResolver }: Authorization,
): ReadonlyMap<string, ResourceStore> {
  const { registry, mergeTypes } = foundation;
  const kinds = builtinKinds({ authorizer, rules: rbac }, paramAccess(authorizer, registry));
  const stores = foundation.install(withTokenRequests(kinds, options, accounts, clock));
  const reviews = [
    ...authorizationReviews({ authorizer, ruleResolver }),
    ...authenticationReviews({ tokens, apiAudiences: accounts.apiAudiences, clock }),
  ];
  const queries = queryKinds({ registry, authorizer, clock });
  installComputed([...reviewKinds(reviews, mergeTypes, clock), ...queries, ...extensions.kinds], registry);
  return stores;
}
