import type { AdmissionChain } from '../admission/interfaces.js';
import { hasDeletionTimestamp } from '../apimachinery/meta.js';
import { readDataFile } from '../apimachinery/data-files.js';
import { ClusterRoleAggregation } from '../controllers/clusterrole-aggregation.js';
import { DefinitionController } from '../controllers/definitions.js';
import { DefinitionServing } from '../controllers/definition-serving.js';
import { GarbageCollector } from '../controllers/garbage-collector.js';
import { NamespaceController } from '../controllers/namespaces.js';
import { keepSystemNamespaces } from '../controllers/system-namespaces.js';
import type { LocalClients } from '../registry/generic/local-client.js';
import { ensureRbacDefaults, parseRbacDefaults } from '../registry/rbac/bootstrap.js';
import { feedNodeGraph, feedRbacIndex } from '../registry/rbac/feed.js';
import type { ApiRegistry } from '../registry/rest/api-registry.js';
import type { TypeClient } from '../registry/rest/type-client.js';
import type { Cacher } from '../storage/cacher/interfaces.js';
import type { Backend } from '../storage/interfaces.js';
import type { Clock } from '../util/clock.js';
import type { Logger } from '../util/logger.js';
import type { Authorization } from './authorization.js';
import { enabledControllers } from './controller-names.js';
import type { Options } from './options.js';

const RBAC = 'rbac.authorization.k8s.io';

export interface LoopOptions {
  readonly options: Options;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: ApiRegistry;
  readonly backend: Backend;
  readonly cacher: Cacher;
  readonly authorization: Authorization;
  readonly admission: AdmissionChain;
  readonly cbor: boolean;
  readonly signal: AbortSignal;
  /** Clients that note this manager in what they write. */
  readonly clients: (fieldManager: string) => LocalClients;
}

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
      { name: 'start-rbac-index', run: () => this.startAuthorization() },
      { name: 'rbac/bootstrap-roles', run: () => this.bootstrapRoles() },
      { name: 'start-controllers', run: () => this.startControllers() },
    ];
  }

  private failed(what: string): (where: string, error: unknown) => void {
    return (where, error) => {
      const text = error instanceof Error ? error.message : String(error);
      this.context.logger.warn(`${what}: ${where}`, { error: text });
    };
  }

  private async startDefinitions(): Promise<void> {
    const { registry, backend, cacher, clock, cbor, signal, clients } = this.context;
    const serving = new DefinitionServing({ registry, backend, cacher, clock, cbor });
    const local = clients('kube-apiserver');
    const controller = new DefinitionController({
      client: local.for({ group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' }),
      serving,
      clock,
      deleteObjects: (store) => deleteEach(local.for(store.groupResource), ''),
      onError: this.failed('definition'),
    });
    controller.start(signal);
    await controller.synced;
  }

  private startSystemNamespaces(): Promise<void> {
    const { clock, signal, clients } = this.context;
    const client = clients('kube-apiserver').for({ group: '', resource: 'namespaces' });
    const failed = this.failed('system namespaces');
    return keepSystemNamespaces(client, clock, signal, (error) => { failed('cannot be kept', error); });
  }

  private startAuthorization(): Promise<void> {
    const { authorization, clients, signal } = this.context;
    const local = clients('kube-apiserver');
    if (authorization.modes.includes('Node')) feedNodeGraph(authorization.nodes, local, signal);
    return new Promise((resolve) => { feedRbacIndex(authorization.rbac, local, resolve, signal); });
  }

  private bootstrapRoles(): Promise<void> {
    const { clock, signal, clients } = this.context;
    const failed = this.failed('default roles');
    return ensureRbacDefaults(parseRbacDefaults(readDataFile('rbac-defaults.json')), {
      clients: clients('kube-apiserver'),
      clock,
      signal,
      failed: (text) => { failed('', text); },
    });
  }

  private startControllers(): Promise<void> {
    const { options, clock, registry, signal, clients } = this.context;
    const enabled = enabledControllers(options.controllers);
    const local = clients('kube-controller-manager');
    if (enabled.has('namespace-controller')) {
      new NamespaceController({
        client: local.for({ group: '', resource: 'namespaces' }),
        registry,
        clock,
        deleteAll: (api, namespace) => deleteEach(local.for(api.served.groupResource), namespace),
        finalize: (namespace) => local.for({ group: '', resource: 'namespaces' }).updateSubresource(namespace, 'finalize'),
        onError: this.failed('namespace'),
      }).start(signal);
    }
    if (enabled.has('garbage-collector-controller')) {
      new GarbageCollector({ registry, clients: local, clock, onError: this.failed('garbage collection') }).start(signal);
    }
    if (enabled.has('clusterrole-aggregation-controller')) {
      const failed = this.failed('cluster role aggregation');
      const client = local.for({ group: RBAC, resource: 'clusterroles' });
      new ClusterRoleAggregation(client, clock, (text) => { failed('', text); }).start(signal);
    }
    return Promise.resolve();
  }
}

/** Deletes all objects of a type in a namespace ('' for all), some at a time; what is being deleted already is left alone. */
async function deleteEach(client: TypeClient, namespace: string): Promise<void> {
  const objects = (await client.list(namespace)).filter((object) => !hasDeletionTimestamp(object));
  let next = 0;
  const work = async (): Promise<void> => {
    for (let object = objects[next++]; object !== undefined; object = objects[next++]) {
      await client.delete(object.metadata.namespace ?? '', object.metadata.name ?? '').catch(ignoreNotFound);
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 404)) throw error;
}
