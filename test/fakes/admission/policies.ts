import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import type { KubeObject } from '../../../src/apimachinery/meta/meta.js';
import { DEDUCED } from '../../../src/structured-merge-diff/schema/schema.js';
import { FakeClock } from '../util/clock.js';
import { fakeAttributes } from './attributes.js';
import type { AdmissionAttributes } from '../../../src/admission/interfaces.js';
import type { AdmissionSources, ConfigurationSource, ParamStore } from '../../../src/admission/sources.js';

/** A source whose configurations the test sets. */
export class FakeSource implements ConfigurationSource {
  generation = 0;
  private current: readonly KubeObject[] = [];
  private readonly listeners = new Set<() => void>();

  set(...objects: KubeObject[]): void {
    this.current = objects;
    this.generation++;
    for (const listener of this.listeners) listener();
  }

  objects(): readonly KubeObject[] {
    return this.current;
  }

  synced(): boolean {
    return true;
  }

  whenSynced(): Promise<void> {
    return Promise.resolve();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

const namespaceNamed = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { team: 'a' } },
});

/** Sources whose policies, bindings and params the test sets. */
export class FakeSources implements AdmissionSources {
  readonly mutatingWebhooks = new FakeSource();
  readonly validatingWebhooks = new FakeSource();
  readonly mutatingPolicies = new FakeSource();
  readonly mutatingPolicyBindings = new FakeSource();
  readonly validatingPolicies = new FakeSource();
  readonly validatingPolicyBindings = new FakeSource();
  /** ConfigMaps by `namespace/name`. */
  readonly configMaps = new Map<string, KubeObject>();
  readonly retained: string[][] = [];

  readonly params: AdmissionSources['params'] = {
    open: ({ kind }) => (kind === 'ConfigMap' ? this.store : undefined),
    retain: (kinds) => this.retained.push(kinds.map(({ kind }) => kind)),
  };

  readonly namespaces: AdmissionSources['namespaces'] = {
    get: namespaceNamed,
    cached: namespaceNamed,
  };

  private readonly store: ParamStore = {
    namespaced: true,
    synced: () => true,
    get: (namespace, name) => this.configMaps.get(`${namespace}/${name}`),
    list: (namespace, selector) =>
      [...this.configMaps.values()].filter(
        ({ metadata }) => metadata.namespace === namespace && selector.matches(metadata.labels),
      ),
  };
}

export const RULES = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }];

export const policy = (name: string, spec: JsonObject): KubeObject => ({
  metadata: { name },
  spec: { matchConstraints: { resourceRules: RULES }, ...spec },
});

export const binding = (name: string, policyName: string, spec: JsonObject = {}): KubeObject => ({
  metadata: { name },
  spec: { policyName, validationActions: ['Deny'], ...spec },
});

/** Returns the attributes of the creation of a ConfigMap, and the warnings and annotations that admission adds. */
export function createOf(
  data: JsonObject,
  given: Partial<AdmissionAttributes> = {},
): {
  readonly attributes: AdmissionAttributes;
  readonly warnings: string[];
  readonly annotations: Record<string, string>;
} {
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const attributes = fakeAttributes({
    name: 'settings',
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'ns' }, data },
    versions: {
      equivalents: [],
      convert: (object) => object,
      complete: (changed) => changed as KubeObject,
      onContentsReplaced: () => undefined,
      mergeType: () => DEDUCED,
    },
    warn: (text) => warnings.push(text),
    annotate: (key, value) => {
      annotations[key] = value;
    },
    ...given,
  });
  return { attributes, warnings, annotations };
}

export const clock = new FakeClock();
