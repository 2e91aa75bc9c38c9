import { setMaxListeners } from 'node:events';
import { admissionChain } from '../../admission/chain.js';
import type { AdmissionPlugin } from '../../admission/interfaces.js';
import { certificateAdmission } from '../../admission/plugin/certificates.js';
import { namespaceLifecycle, type NamespaceReader } from '../../admission/plugin/namespace-lifecycle.js';
import { storageObjectInUseProtection, taintNodesByCondition } from '../../admission/plugin/nodes-and-volumes.js';
import { defaultTolerationSeconds, podPriority, runtimeClass } from '../../admission/plugin/pods.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { TokenAuthenticator } from '../../authentication/authenticator/interfaces.js';
import type { UserInfo } from '../../authentication/user/user.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import { customResourceDefinitionType } from '../../registry/apiextensions/customresourcedefinition/type.js';
import { authenticationReviews } from '../../registry/builtin/authentication/reviews.js';
import { authorizationReviews } from '../../registry/builtin/authorization/reviews.js';
import { certificateSigningRequests } from '../../registry/builtin/certificates/certificatesigningrequests/type.js';
import { builtinResourceTypes } from '../../registry/builtin/core/index.js';
import { DetachedObject } from '../../registry/generic/loopback/detached-object.js';
import { LocalClients } from '../../registry/generic/loopback/local-client.js';
import type { ResourceStore } from '../../registry/generic/store/resource-store.js';
import { rbacTypes } from '../../registry/builtin/rbac/types.js';
import { makeAuthorization } from './access/authorization.js';
import { installVirtual } from '../../registry/builtin/install.js';
import type { Authorities } from './hook-context.js';
import { Loops } from './post-start-hooks.js';
import type { Options } from '../options/options.js';
import { assemblePlane, type ControlPlane, openFoundation, type ServerContext } from './plane.js';
import { type ServiceAccountTokens, withTokenRequests } from './access/service-account-tokens.js';

export interface ControlPlaneDependencies {
  /** Host and port under which clients reach the server. */
  readonly serverAddress: () => string;
  /** All token methods, for TokenReview; undefined: there is none. */
  readonly tokens: TokenAuthenticator | undefined;
  readonly accounts: ServiceAccountTokens;
  readonly authorities: Authorities;
}

function admissionPlugins(
  options: Options,
  namespaces: ResourceStore | undefined,
  authorizer: Authorizer,
): AdmissionPlugin[] {
  const plugins = [
    ...(namespaces === undefined ? [] : [namespaceLifecycle(namespaceReader(namespaces))]),
    taintNodesByCondition(),
    podPriority(),
    defaultTolerationSeconds(),
    storageObjectInUseProtection(),
    runtimeClass(),
    ...certificateAdmission(authorizer),
  ];
  return plugins.filter(({ name }) => !options.disableAdmissionPlugins.includes(name));
}

/** Namespaces for admission: the cache, and a fresh read where it has none. */
function namespaceReader(store: ResourceStore): NamespaceReader {
  return {
    cached: (name) => store.cache.peek(name)?.decode() as KubeObject | undefined,
    live: async (name) => {
      const stored = await store.fresh(name);
      return stored === undefined ? undefined : (new DetachedObject(stored).decode() as KubeObject);
    },
  };
}

/**
 * Store, cacher, registry, handlers and controllers of standalone mode. THE PLACE where they are put together: everything below the
 * chain is constructed here and nowhere else.
 */
export async function buildControlPlane(
  context: ServerContext,
  dependencies: ControlPlaneDependencies,
): Promise<ControlPlane> {
  const { options, clock, logger } = context;
  const { accounts, authorities, serverAddress, tokens } = dependencies;
  const stop = new AbortController();
  // Every loop listens for the end.
  setMaxListeners(0, stop.signal);
  const authorization = await makeAuthorization(options, {
    clock,
    logger,
    registry: context.registry,
    signal: stop.signal,
  });
  const { authorizer, rbac, ruleResolver } = authorization;
  const foundation = await openFoundation(context);
  const { registry, mergeTypes } = foundation;
  const stores = foundation.install([
    ...withTokenRequests(builtinResourceTypes(), options, accounts, clock),
    ...rbacTypes({ authorizer, rules: rbac }),
    certificateSigningRequests,
    customResourceDefinitionType({}),
  ]);
  installVirtual(
    [
      ...authorizationReviews({ authorizer, ruleResolver }),
      ...authenticationReviews({ tokens, apiAudiences: accounts.apiAudiences, clock }),
    ],
    registry,
    mergeTypes,
    clock,
  );
  const admission = admissionChain(admissionPlugins(options, stores.get('namespaces'), authorizer));
  const clients = (fieldManager: string, user?: UserInfo): LocalClients =>
    new LocalClients({ registry, admission, clock, fieldManager, ...(user !== undefined && { user, authorizer }) });
  accounts.objects.attach(stores, clients('kube-apiserver').for({ group: '', resource: 'secrets' }));
  const loops = new Loops({
    ...foundation,
    options,
    clock,
    logger,
    authorization,
    authorities,
    clients,
    admission,
    signal: stop.signal,
  });
  return assemblePlane(context, foundation, {
    admission,
    authorizer,
    rules: rbac,
    serverAddress,
    hooks: loops.hooks(),
    stop: () => {
      stop.abort();
    },
  });
}
