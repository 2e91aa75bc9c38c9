import type { Clock } from '../../util/clock.js';
import { decodeBase64 } from '../../go/base64.js';
import { aggregateMessages, messageOf } from '../../util/error-message.js';
import { Cbc, Gcm, Secretbox } from './ciphers.js';
import { KmsProvider, type KmsObserver } from './kms/provider.js';
import { GrpcKmsService, type KmsServiceOptions } from './kms/service.js';
import {
  ENCRYPTED_PREFIX,
  identity,
  type PrefixTransformer,
  PrefixTransformers,
  type Transformer,
  type TransformError,
  type TransformObserver,
} from './transformer.js';
import {
  EncryptionConfigError,
  type EncryptionConfiguration,
  type KeysConfiguration,
  type KmsConfiguration,
  type ProviderConfiguration,
} from './types.js';
import { parseGroupResource } from './validate.js';

const NO_MATCH = 'no matching prefix found';

export interface EncryptionObserver extends TransformObserver, KmsObserver {
  called(provider: string, method: string, millis: number, error: TransformError | undefined): void;
}

export interface BuildOptions {
  readonly clock: Clock;
  readonly observer: EncryptionObserver;
  /** Called when a KMS provider is unhealthy. */
  readonly failed: (provider: string, error: Error) => void;
}

/** The transformers of a configuration, and the KMS providers of their keys. */
export class Transformers {
  private readonly made = new Map<string, Transformer | undefined>();

  constructor(
    private readonly rules: ReadonlyMap<string, readonly PrefixTransformer[]>,
    readonly providers: readonly KmsProvider[],
    private readonly options: BuildOptions,
  ) {}

  /** Returns the transformer of a type, or undefined if the type is stored unencrypted. */
  of(resource: string): Transformer | undefined {
    if (this.made.has(resource)) return this.made.get(resource);
    const { group } = parseGroupResource(resource);
    const rule = this.rules.get(resource) ?? this.rules.get(ruleName('*', group)) ?? this.rules.get('*.*');
    const { observer, clock } = this.options;
    const made = rule && new PrefixTransformers(rule, NO_MATCH, { resource, observer, clock });
    // Bounded, because those of deleted definitions stay until the next configuration.
    if (this.made.size >= MAX_TYPES) this.made.clear();
    this.made.set(resource, made);
    return made;
  }

  async start(): Promise<void> {
    await Promise.all(this.providers.map((provider) => provider.start()));
  }

  /** Throws the reasons if KMS providers are unhealthy. */
  async check(): Promise<void> {
    const errors: string[] = [];
    for (const [i, provider] of this.providers.entries()) {
      try {
        await provider.check();
      } catch (error) {
        errors.push(`kms-provider-${i}: ${messageOf(error)}`);
      }
    }
    if (errors.length > 0) throw new Error(aggregateMessages(errors));
  }

  close(): void {
    for (const provider of this.providers) provider.close();
  }
}

const MAX_TYPES = 10_000;

/** Returns the name of a rule, which has the form of the store's type names: those of the core group have no dot. */
const ruleName = (resource: string, group: string): string =>
  group === '' && resource !== '*' ? resource : `${resource}.${group}`;

/** Builds the transformers; throws EncryptionConfigError. No KMS provider is called before `start`. */
export function buildTransformers({ resources }: EncryptionConfiguration, options: BuildOptions): Transformers {
  const rules = new Map<string, PrefixTransformer[]>();
  const providers: KmsProvider[] = [];
  for (const entry of resources) {
    const transformers = entry.providers.map((provider) => makeProvider(provider, options, providers));
    for (const text of entry.resources) {
      const { resource, group } = parseGroupResource(text);
      const masking = [ruleName('*', group), '*.*'].find((rule) => rules.has(rule));
      if (masking !== undefined)
        throw new EncryptionConfigError(
          `error while building transformers: resource ${JSON.stringify(text)} is masked by earlier rule ${JSON.stringify(masking)}`,
        );
      const name = ruleName(resource, group);
      rules.set(name, [...(rules.get(name) ?? []), ...transformers]);
    }
  }
  return new Transformers(rules, providers, options);
}

function makeProvider(
  { aesgcm, aescbc, secretbox, kms }: ProviderConfiguration,
  options: BuildOptions,
  providers: KmsProvider[],
): PrefixTransformer {
  if (aesgcm !== undefined) return keyed('aesgcm', 'AES', aesgcm, (key) => new Gcm(key));
  if (aescbc !== undefined) return keyed('aescbc', 'AES', aescbc, (key) => new Cbc(key));
  if (secretbox !== undefined) return keyed('secretbox', 'Secretbox', secretbox, (key) => new Secretbox(key));
  if (kms === undefined) return { prefix: '', transformer: identity };
  const provider = makeKms(kms, options);
  providers.push(provider);
  return { prefix: `${ENCRYPTED_PREFIX}kms:v2:${kms.name}:`, transformer: provider };
}

function keyed(
  name: string,
  shown: string,
  { keys }: KeysConfiguration,
  make: (key: Uint8Array) => Transformer,
): PrefixTransformer {
  const transformers = keys.map((key) => ({
    prefix: `${key.name}:`,
    transformer: make(decodeBase64(key.secret) ?? Buffer.alloc(0)),
  }));
  return {
    prefix: `${ENCRYPTED_PREFIX}${name}:v1:`,
    transformer: new PrefixTransformers(
      transformers,
      `no matching key was found for the provided ${shown} transformer`,
    ),
  };
}

function makeKms({ apiVersion, name, endpoint, timeoutMillis }: KmsConfiguration, options: BuildOptions): KmsProvider {
  if (apiVersion === 'v1')
    throw new EncryptionConfigError(
      'error while building transformers: KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.',
    );
  const { clock, observer, failed } = options;
  const called: KmsServiceOptions['called'] = (method, millis, error) => observer.called(name, method, millis, error);
  return new KmsProvider({
    name,
    clock,
    observer,
    service: new GrpcKmsService({ endpoint, timeoutMillis, clock, called }),
    failed: (error) => failed(name, error),
  });
}
