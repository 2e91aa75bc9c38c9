import { readDataFile } from '../../../apimachinery/scheme/data-files.js';
import { AuthenticationInfoPublisher } from '../../../controllers/cluster-authentication-info.js';
import { swallowIgnorableErrors } from '../../../controllers/errors.js';
import { LegacyTokenTracking } from '../../../controllers/service-accounts/legacy-token-tracking.js';
import { keepSystemNamespaces } from '../../../controllers/system-namespaces.js';
import { ensureRbacDefaults, parseRbacDefaults } from '../../../registry/builtin/rbac/bootstrap.js';
import { feedNodeGraph, feedRbacIndex } from '../../../registry/builtin/rbac/feed.js';
import { sleep } from '../../../util/clock.js';
import { conversions, resolveByServices } from '../access/conversion-webhooks.js';
import { DEFINITIONS, errorLogger, runControllers } from '../controllers.js';
import { startRestores, undoDefinitions } from '../undo.js';
import type { HookOptions } from './hook-context.js';
import type { Hook } from '../plane.js';
import { startDefinitions } from './start-definitions.js';
import { viewDefinition } from '../../../registry/builtin/kubeannex/views.js';
import { startViews } from './start-views.js';

const RETRY_MILLIS = 1_000;

/** The background work of standalone mode: what kube-apiserver always does, and the enabled controllers. */
export class StandaloneHooks {
  /** Resolves when the controllers have left this server to others, which they do on the signal. */
  left: Promise<void> = Promise.resolve();

  constructor(private readonly context: HookOptions) {}

  /** Returns the hooks that run before requests are served: they load the authorization data from the store. */
  loading(): Hook[] {
    return [{ name: 'generic-apiserver-start-informers', run: () => this.startAuthorization() }];
  }

  /** Returns the hooks that run after those, in order. The server is ready when all have finished. */
  hooks(): Hook[] {
    // This is one step; in kube-apiserver it is three consecutive hooks.
    let definitions: Promise<void> | undefined;
    const served = (): Promise<void> => (definitions ??= this.startDefinitions());
    return [
      { name: 'start-apiextensions-informers', run: served },
      { name: 'start-apiextensions-controllers', run: served },
      { name: 'crd-informer-synced', run: served },
      { name: 'start-views', run: () => this.startViews() },
      { name: 'start-system-namespaces-controller', run: () => this.startSystemNamespaces() },
      { name: 'start-cluster-authentication-info-controller', run: () => this.startAuthenticationInfo() },
      { name: 'start-legacy-token-tracking-controller', run: () => this.startTokenTracking() },
      { name: 'rbac/bootstrap-roles', run: () => this.retryWhileStoreUnavailable(() => this.bootstrapRoles()) },
      { name: 'start-controllers', run: () => this.startControllers() },
    ];
  }

  /** Retries work that fails because the store is unavailable. Any other failure stops the server. */
  private async retryWhileStoreUnavailable(run: () => Promise<void>): Promise<void> {
    const { backend, clock, signal } = this.context;
    const isStoreUnavailable = (): Promise<boolean> =>
      backend.health.ping().then(
        () => false,
        () => true,
      );
    for (let failures = 0; ;) {
      try {
        await run();
        return;
      } catch (error) {
        // A single failure while the store answers proves nothing: the store may have just come back.
        failures = (await isStoreUnavailable()) ? 0 : failures + 1;
        if (signal.aborted || failures > 1) throw error;
        await sleep(clock, RETRY_MILLIS, signal);
      }
    }
  }

  private async startDefinitions(): Promise<void> {
    const clients = this.context.clients('kube-apiserver');
    await startDefinitions({
      ...this.context,
      type: DEFINITIONS,
      clients,
      conversionOf: conversions(resolveByServices(() => clients.for({ group: '', resource: 'services' }))),
      recordEvent: (event) =>
        swallowIgnorableErrors(() => clients.for({ group: '', resource: 'events' }).create(event)),
      onError: errorLogger(this.context, 'definition'),
      own: [viewDefinition(), ...undoDefinitions(this.context.backend)],
    });
  }

  private startViews(): Promise<void> {
    return startViews(this.context, this.context.clients('kube-apiserver'));
  }

  private startSystemNamespaces(): Promise<void> {
    const { clock, signal, clients } = this.context;
    const client = clients('kube-apiserver').for({ group: '', resource: 'namespaces' });
    const failed = errorLogger(this.context, 'system namespaces');
    return keepSystemNamespaces(client, clock, signal, (error) => failed('cannot be created', error));
  }

  private startAuthenticationInfo(): void {
    const { authorities, clients, clock, signal } = this.context;
    const publisher = new AuthenticationInfoPublisher({
      clients: clients('kube-apiserver'),
      clock,
      info: authorities.authenticationInfo,
      onError: errorLogger(this.context, 'authentication info'),
    });
    publisher.start(signal);
  }

  private async startControllers(): Promise<void> {
    ({ left: this.left } = await runControllers(this.context, (context) => {
      const { authorizer } = context.authorization;
      startRestores(context, { ...context, authorizer, clients: context.clients('annex'), definitions: DEFINITIONS });
    }));
  }

  private startTokenTracking(): void {
    const { clock, signal, clients } = this.context;
    const failed = errorLogger(this.context, 'legacy token tracking');
    new LegacyTokenTracking(clients('kube-apiserver'), clock, failed).start(signal);
  }

  private async startAuthorization(): Promise<void> {
    const { authorization, clients, signal } = this.context;
    const local = clients('kube-apiserver');
    const nodes = authorization.modes.includes('Node') ? feedNodeGraph(authorization.nodes, local, signal) : undefined;
    await Promise.all([feedRbacIndex(authorization.rbac, local, signal), nodes]);
  }

  private bootstrapRoles(): Promise<void> {
    const { clock, signal, clients } = this.context;
    const failed = errorLogger(this.context, 'default roles');
    return ensureRbacDefaults(parseRbacDefaults(readDataFile('rbac-defaults.json')), {
      clients: clients('kube-apiserver'),
      clock,
      signal,
      failed: (text) => failed('', text),
    });
  }
}
