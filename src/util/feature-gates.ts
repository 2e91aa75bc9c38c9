import { CURRENT_MINOR } from './effective-version.js';

/** The maturity of a feature. The stage of GA features is empty, as in the metric of Kubernetes components. */
export type FeatureStage = 'PRE-ALPHA' | 'ALPHA' | 'BETA' | '' | 'DEPRECATED';

interface FeatureState {
  readonly stage: FeatureStage;
  readonly default: boolean;
  /** True if the gate cannot be set to anything but its default. */
  readonly locked?: boolean;
}

interface FeatureSpec extends FeatureState {
  /** The earlier states, each up to and including a minor version, oldest first. They cover all versions that can be emulated. */
  readonly earlier?: readonly (FeatureState & { readonly until: number })[];
  /** The features that must be enabled to enable this one. */
  readonly needs?: readonly string[];
}

/** A feature that kube-apiserver 1.37 no longer has a gate for. Ours stays for the releases that follow the one that announced its end. */
const GA_SINCE_34 = { stage: '', default: true, locked: true } as const satisfies FeatureSpec;

const BETA_SINCE_36 = {
  stage: 'BETA',
  default: true,
  earlier: [{ until: 35, stage: 'ALPHA', default: false }],
} as const satisfies FeatureSpec;

const NEW_IN_37 = {
  stage: 'BETA',
  default: true,
  earlier: [{ until: 36, stage: 'PRE-ALPHA', default: false }],
} as const satisfies FeatureSpec;

/**
 * All feature gates of Annex. A gate is listed only while there is code that checks it. docs/kubernetes-versions.md says why the other
 * gates of kube-apiserver are missing.
 */
const FEATURES = {
  APIResponseCompression: { stage: 'BETA', default: true },
  AllowParsingUserUIDFromCertAuth: { stage: 'BETA', default: true },
  AllowUnsafeMalformedObjectDeletion: {
    stage: 'BETA',
    default: true,
    earlier: [{ until: 36, stage: 'ALPHA', default: false }],
  },
  AuthorizeNodeWithSelectors: GA_SINCE_34,
  AuthorizeWithSelectors: GA_SINCE_34,
  CBORServingAndStorage: { stage: 'ALPHA', default: false },
  ComponentFlagz: BETA_SINCE_36,
  ComponentStatusz: BETA_SINCE_36,
  ConstrainedImpersonation: {
    stage: 'BETA',
    default: true,
    earlier: [
      { until: 34, stage: 'PRE-ALPHA', default: false },
      { until: 35, stage: 'ALPHA', default: false },
    ],
  },
  DeclarativeValidation: { stage: '', default: true, earlier: [{ until: 35, stage: 'BETA', default: true }] },
  DeclarativeValidationBeta: {
    stage: 'BETA',
    default: true,
    // Without effect if DeclarativeValidation is disabled, but no dependency: that gate can be disabled alone.
    earlier: [{ until: 35, stage: 'PRE-ALPHA', default: false }],
  },
  /** kube-apiserver 1.37 locks it to false; the specification lets users switch it on. Without effect if DeclarativeValidation is disabled. */
  DeclarativeValidationTakeover: {
    stage: 'DEPRECATED',
    default: false,
    earlier: [{ until: 35, stage: 'BETA', default: false }],
  },
  ExcludeAdmissionWebhookVirtualResources: NEW_IN_37,
  ListFromCacheSnapshot: { stage: 'BETA', default: true },
  ManifestBasedAdmissionControlConfig: {
    stage: 'BETA',
    default: true,
    earlier: [
      { until: 35, stage: 'PRE-ALPHA', default: false },
      { until: 36, stage: 'ALPHA', default: false },
    ],
  },
  ShardedListAndWatch: {
    stage: 'ALPHA',
    default: false,
    earlier: [{ until: 35, stage: 'PRE-ALPHA', default: false }],
  },
  StructuredAuthenticationConfiguration: GA_SINCE_34,
  UnauthenticatedHTTP2DOSMitigation: { stage: 'BETA', default: true },
  WatchList: { stage: 'BETA', default: false },
} as const satisfies Record<string, FeatureSpec>;

export type FeatureName = keyof typeof FEATURES;

const GROUPS: Readonly<Record<string, FeatureStage>> = { AllAlpha: 'ALPHA', AllBeta: 'BETA' };
const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

const isFeature = (name: string): name is FeatureName => Object.hasOwn(FEATURES, name);

/** The state of the gates of one process. */
export class FeatureGates {
  private readonly state = new Map<FeatureName, boolean>();
  private emulation = CURRENT_MINOR;
  private compatibility = CURRENT_MINOR - 1;
  /** The warnings of the last `set`. */
  private warned: readonly string[] = [];

  constructor() {
    this.reset();
  }

  enabled(name: FeatureName): boolean {
    return this.state.get(name) === true;
  }

  /** One line for each gate that was set although it will be removed. */
  get warnings(): readonly string[] {
    return this.warned;
  }

  /** Resets all gates to their defaults. */
  reset(): void {
    for (const name of this.names()) this.state.set(name, this.spec(name).default);
  }

  /** Sets the versions that determine which gates exist and what their defaults are. All gates are reset to their defaults. */
  emulate({ emulation, minCompatibility }: { readonly emulation: number; readonly minCompatibility: number }): void {
    this.emulation = emulation;
    this.compatibility = minCompatibility;
    this.reset();
  }

  private spec(name: FeatureName): FeatureState {
    const spec: FeatureSpec = FEATURES[name];
    return spec.earlier?.find(({ until }) => this.emulation <= until) ?? spec;
  }

  names(): FeatureName[] {
    return Object.keys(FEATURES).filter(isFeature).sort();
  }

  /**
   * Applies the value of `--feature-gates`: `A=true,B=false`, optionally with the component prefix `kube:` before a gate. Throws an Error
   * that names the invalid gate or value; in that case nothing is changed.
   */
  set(text: string): void {
    const wanted = new Map<string, boolean>();
    for (const part of text.split(',')) {
      const pair = part.trim();
      if (pair === '') continue;
      const at = pair.indexOf('=');
      if (at < 0) throw new Error(`missing bool value for ${pair}`);
      const key = pair
        .slice(0, at)
        .trim()
        .replace(/^kube:/, '');
      wanted.set(key, parseBool(key, pair.slice(at + 1).trim()));
    }
    this.apply(wanted);
  }

  private apply(wanted: ReadonlyMap<string, boolean>): void {
    const next = new Map(this.state);
    const warnings: string[] = [];
    for (const [key, value] of wanted) {
      const stage = GROUPS[key];
      if (stage === undefined) continue;
      for (const name of this.names()) if (this.spec(name).stage === stage) next.set(name, value);
    }
    for (const [key, value] of wanted) {
      if (GROUPS[key] !== undefined) continue;
      if (!isFeature(key)) throw new Error(`unrecognized feature gate: ${key}`);
      const { stage, locked, default: normal } = this.spec(key);
      const refused = `cannot set feature gate ${key} to ${value}, feature is`;
      if (stage === 'PRE-ALPHA') {
        const versions = `emulated version 1.${this.emulation}, min compatibility version 1.${this.compatibility}`;
        throw new Error(`${refused} PreAlpha at ${versions}`);
      }
      if (locked === true && value !== normal) throw new Error(`${refused} locked to ${normal}`);
      if (stage === '' || stage === 'DEPRECATED') {
        const which = stage === '' ? 'GA' : 'deprecated';
        warnings.push(
          `setting ${which} feature gate ${key}=${String(value)}, which will be removed in a future release`,
        );
      }
      next.set(key, value);
    }
    this.checkNeeds(next);
    this.warned = warnings;
    for (const [name, value] of next) this.state.set(name, value);
  }

  private checkNeeds(next: ReadonlyMap<FeatureName, boolean>): void {
    for (const name of this.names()) {
      const { needs = [] }: FeatureSpec = FEATURES[name];
      const missing = needs.filter((need) => isFeature(need) && next.get(need) !== true);
      if (next.get(name) === true && missing.length > 0) {
        throw new Error(`${name} is enabled, but depends on features that are disabled: [${missing.join(' ')}]`);
      }
    }
  }

  /** Returns one line per gate for `--help`: `WatchList=true|false (BETA - default=false)`. A locked gate is marked as non-operational. */
  knownFeatures(): string[] {
    const gates = this.names().map((name) => {
      const { stage, default: value, locked } = this.spec(name);
      const inert = locked === true ? ', non-operational' : '';
      return `${name}=true|false (${stage === '' ? 'GA' : stage} - default=${value}${inert})`;
    });
    return ['AllAlpha=true|false (ALPHA - default=false)', 'AllBeta=true|false (BETA - default=false)', ...gates];
  }

  /** Returns the gates for the metric `kubernetes_feature_enabled`: those that exist in the emulated version. */
  *entries(): Iterable<{ name: FeatureName; stage: FeatureStage; enabled: boolean }> {
    for (const name of this.names()) {
      const { stage } = this.spec(name);
      if (stage !== 'PRE-ALPHA') yield { name, stage, enabled: this.enabled(name) };
    }
  }
}

function parseBool(key: string, text: string): boolean {
  if (TRUE.has(text)) return true;
  if (FALSE.has(text)) return false;
  throw new Error(`invalid value of ${key}: ${text}, it must be true or false`);
}

/** The gates of this process. They are set once at startup, before they are first checked. */
export const featureGates = new FeatureGates();
