/** An EncryptionConfiguration, decoded, with kube-apiserver's defaults. */
export interface EncryptionConfiguration {
  readonly resources: readonly ResourceConfiguration[];
}

interface ResourceConfiguration {
  readonly resources: readonly string[];
  readonly providers: readonly ProviderConfiguration[];
}

export interface ProviderConfiguration {
  readonly aesgcm?: KeysConfiguration | undefined;
  readonly aescbc?: KeysConfiguration | undefined;
  readonly secretbox?: KeysConfiguration | undefined;
  readonly identity?: Readonly<Record<string, never>> | undefined;
  readonly kms?: KmsConfiguration | undefined;
}

export interface KeysConfiguration {
  readonly keys: readonly { readonly name: string; readonly secret: string }[];
}

export interface KmsConfiguration {
  readonly apiVersion: string;
  readonly name: string;
  readonly cachesize: number | undefined;
  readonly endpoint: string;
  readonly timeoutMillis: number;
}

/** Thrown if a file cannot be used. The message never shows a key. */
export class EncryptionConfigError extends Error {
  override readonly name = 'EncryptionConfigError';
}
