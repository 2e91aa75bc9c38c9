import { readDataFile } from '../../apimachinery/scheme/data-files.js';
import { LegacyTokenTracking } from '../../controllers/service-accounts/legacy-token-tracking.js';
import { keepSystemNamespaces } from '../../controllers/system-namespaces.js';
import { ensureRbacDefaults, parseRbacDefaults } from '../../registry/builtin/rbac/bootstrap.js';
import { feedNodeGraph, feedRbacIndex } from '../../registry/builtin/rbac/feed.js';
import { conversions, resolveByServices } from './access/conversion-webhooks.js';
import { Controllers, failureLog } from './controllers.js';
import type { LoopOptions } from './hook-context.js';
import { startDefinitions } from './start-definitions.js';

interface Hook {
  readonly name: string;
  run(): Promise<void>;
}

/** Everything that standalone mode does by itself: what kube-apiserver does always, and the controllers that are switched on. */
export class Loops {
  constructor(private readonly context: LoopOptions) {}

  /** Work after the server listens, in order; it is ready when all is done. */
  hooks(): Hook[] {
    return [
      { name: 'start-apiextensions-informers', run: () => this.startDefinitions() },
      { name: 'start-system-namespaces-controller', run: () => this.startSystemNamespaces() },
      { name: 'start-legacy-token-tracking-controller', run: () => this.startTokenTracking() },
      { name: 'start-rbac-index', run: () => this.startAuthorization() },
      { name: 'rbac/bootstrap-roles', run: () => this.bootstrapRoles() },
      { name: 'start-controllers', run: () => new Controllers(this.context).start() },
    ];
  }

  private failed(what: string): (where: string, error: unknown) => void {
    return failureLog(this.context, what);
  }

  private async startDefinitions(): Promise<void> {
    const clients = this.context.clients('kube-apiserver');
    await startDefinitions({
      ...this.context,
      type: { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
      clients,
      conversionOf: conversions(resolveByServices(() => clients.for({ group: '', resource: 'services' }))),
      onError: this.failed('definition'),
    });
  }

  private startSystemNamespaces(): Promise<void> {
    const { clock, signal, clients } = this.context;
    const client = clients('kube-apiserver').for({ group: '', resource: 'namespaces' });
    const failed = this.failed('system namespaces');
    return keepSystemNamespaces(client, clock, signal, (error) => {
      failed('cannot be kept', error);
    });
  }

  private startTokenTracking(): Promise<void> {
    const { clock, signal, clients } = this.context;
    const failed = this.failed('legacy token tracking');
    new LegacyTokenTracking(clients('kube-apiserver'), clock, failed).start(signal);
    return Promise.resolve();
  }

  private startAuthorization(): Promise<void> {
    const { authorization, clients, signal } = this.context;
    const local = clients('kube-apiserver');
    if (authorization.modes.includes('Node')) feedNodeGraph(authorization.nodes, local, signal);
    return new Promise((resolve) => {
      feedRbacIndex(authorization.rbac, local, resolve, signal);
    });
  }

  private bootstrapRoles(): Promise<void> {
    const { clock, signal, clients } = this.context;
    const failed = this.failed('default roles');
    return ensureRbacDefaults(parseRbacDefaults(readDataFile('rbac-defaults.json')), {
      clients: clients('kube-apiserver'),
      clock,
      signal,
      failed: (text) => {
        failed('', text);
      },
    });
  }
}
