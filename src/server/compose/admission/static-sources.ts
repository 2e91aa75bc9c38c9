import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { Changes } from '../../../admission/changes.js';
import { enabledPlugins, type PluginFlags } from '../../../admission/plugin-names.js';
import type { ConfigurationSource, StaticSources } from '../../../admission/sources.js';
import { compareUtf8, type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import { ManifestError } from '../../../registry/builtin/admissionregistration/manifests/decode-manifest.js';
import type { ManifestPlugin } from '../../../registry/builtin/admissionregistration/manifests/manifest-kinds.js';
import {
  type ManifestFile,
  type Manifests,
  readManifests,
} from '../../../registry/builtin/admissionregistration/manifests/read-manifests.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import { type ConfigMetrics, hashLabel, manifestMetrics } from '../../../util/files/config-metrics.js';
import { reloadOnChange } from '../../../util/files/file-reload.js';
import { watchFile } from '../../../util/files/watch-file.js';
import type { Logger } from '../../../util/logger.js';
import { serverId } from '../../http/server-id.js';

/** The configurations of one kind, as the files had them when they were last valid. */
class StaticConfigurations implements ConfigurationSource {
  private readonly changes = new Changes();

  constructor(private current: readonly KubeObject[]) {}

  get generation(): number {
    return this.changes.generation;
  }

  objects(): readonly KubeObject[] {
    return this.current;
  }

  replace(objects: readonly KubeObject[]): void {
    this.current = objects;
    this.changes.notify();
  }

  synced(): boolean {
    return true;
  }

  whenSynced(): Promise<void> {
    return Promise.resolve();
  }

  subscribe(listener: () => void): () => void {
    return this.changes.subscribe(listener);
  }
}

/** Where a plugin takes the objects of each kind from. */
const SOURCES = {
  ValidatingAdmissionPolicy: {
    validatingPolicies: 'ValidatingAdmissionPolicy',
    validatingPolicyBindings: 'ValidatingAdmissionPolicyBinding',
  },
  MutatingAdmissionPolicy: {
    mutatingPolicies: 'MutatingAdmissionPolicy',
    mutatingPolicyBindings: 'MutatingAdmissionPolicyBinding',
  },
  ValidatingAdmissionWebhook: { validatingWebhooks: 'ValidatingWebhookConfiguration' },
  MutatingAdmissionWebhook: { mutatingWebhooks: 'MutatingWebhookConfiguration' },
} as const satisfies Record<ManifestPlugin, Partial<Record<keyof StaticSources, string>>>;

export interface StaticSourceOptions {
  /** The folder of each plugin that has one. */
  readonly folders: ReadonlyMap<ManifestPlugin, string>;
  readonly flags: PluginFlags;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/**
 * Reads the configurations of the enabled plugins from files, and again whenever the files change, until the signal aborts. Files that
 * cannot be used change nothing. Rejects if that is so at the start.
 */
export async function staticSources(options: StaticSourceOptions, signal: AbortSignal): Promise<StaticSources> {
  const metricsOf = manifestMetrics(hashLabel(serverId()), options.registry);
  const enabled = enabledPlugins(options.flags);
  const sources: Record<string, ConfigurationSource> = {};
  for (const [plugin, folder] of options.folders) {
    if (!enabled.includes(plugin)) continue;
    const reloaded = new ReloadedFolder(plugin, folder, metricsOf(plugin), options);
    Object.assign(sources, await reloaded.start(signal));
  }
  return sources;
}

/** The folder with the configurations of one plugin. */
class ReloadedFolder {
  private readonly sources = new Map<string, StaticConfigurations>();
  private hash = '';

  constructor(
    private readonly plugin: ManifestPlugin,
    private readonly folder: string,
    private readonly metrics: ConfigMetrics,
    private readonly options: StaticSourceOptions,
  ) {}

  async start(signal: AbortSignal): Promise<StaticSources> {
    const { plugin, folder, options } = this;
    const manifests = await this.read().catch((error: unknown) => {
      const what = plugin.endsWith('Webhook') ? 'webhook' : 'policy';
      throw new ManifestError(
        `failed to initialize admission plugin ${quote(plugin)}: failed to load static ${what} manifests from ${quote(folder)}: ${messageOf(error)}`,
      );
    });
    this.accept(manifests);
    const found = Object.entries(SOURCES[plugin]).map(([source, kind]) => {
      const configurations = new StaticConfigurations(manifests.objects.get(kind) ?? []);
      this.sources.set(kind, configurations);
      return [source, configurations];
    });
    const { clock } = options;
    reloadOnChange(
      {
        clock,
        reload: () => this.reload(),
        watch: (changed, until) => watchFile(join(folder, 'manifests'), changed, clock, until),
      },
      signal,
    );
    return Object.fromEntries(found) as StaticSources;
  }

  private async read(): Promise<Manifests> {
    return readManifests(this.plugin, await filesIn(this.folder));
  }

  private accept({ hash }: Manifests): void {
    this.hash = hash;
    this.metrics.recordReload('success', this.options.clock.now());
    this.metrics.setActiveHash(hash);
  }

  private async reload(): Promise<void> {
    const { plugin, folder, options } = this;
    try {
      const manifests = await this.read();
      if (manifests.hash === this.hash) return;
      for (const [kind, source] of this.sources) source.replace(manifests.objects.get(kind) ?? []);
      this.accept(manifests);
      options.logger.info('reloaded admission manifest config', { plugin, dir: folder });
    } catch (error) {
      this.metrics.recordReload('failure', options.clock.now());
      options.logger.error('reloading admission manifest config', { plugin, dir: folder, error: messageOf(error) });
    }
  }
}

const MANIFEST = /\.(?:ya?ml|json)$/i;

/** Reads the files of a folder that hold manifests, in the order of their names. */
async function filesIn(folder: string): Promise<ManifestFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw new ManifestError(`failed to read manifest directory ${quote(folder)}: ${messageOf(error)}`);
  });
  const names = entries.filter((entry) => !entry.isDirectory() && MANIFEST.test(entry.name)).map(({ name }) => name);
  return Promise.all(
    names.sort(compareUtf8).map(async (name) => {
      const path = join(folder, name);
      const content = await readFile(path).catch((error: unknown) => {
        throw new ManifestError(`failed to read file ${quote(path)}: ${messageOf(error)}`);
      });
      return { path, content };
    }),
  );
}
