import { readFileSync } from 'node:fs';
import { JsonError } from '../../apimachinery/json/decode.js';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { aggregate } from '../../apimachinery/meta/field-error.js';
import { quote } from '../../apimachinery/meta/meta.js';
import {
  ConfigurationDecodeError,
  ConfigurationReader,
  decodeConfiguration,
  typeMismatch,
} from '../../apimachinery/yaml/configuration-file.js';
import { parseGoDuration } from '../../go/duration.js';
import { messageOf } from '../../util/error-message.js';
import { hashLabel } from '../../util/files/config-metrics.js';
import {
  EncryptionConfigError,
  type EncryptionConfiguration,
  type KeysConfiguration,
  type KmsConfiguration,
  type ProviderConfiguration,
} from './types.js';
import { validateEncryptionConfiguration } from './validate.js';

const API_VERSION = 'apiserver.config.k8s.io/v1';
const KIND = 'EncryptionConfiguration';
const KMS_TIMEOUT = 3_000;
const KMS_V1_CACHE = 1_000;

export interface LoadedConfiguration {
  readonly configuration: EncryptionConfiguration;
  /** The hash of the file's content. */
  readonly hash: string;
}

/** Reads and validates a file. `reload`: whether it is reloaded while the server runs. Throws EncryptionConfigError. */
export function loadEncryptionConfiguration(
  path: string,
  { reload }: { readonly reload: boolean },
): LoadedConfiguration {
  const content = readConfiguration(path);
  let configuration: EncryptionConfiguration;
  try {
    configuration = decode(content.toString());
  } catch (error) {
    if (!(error instanceof ConfigurationDecodeError) && !(error instanceof JsonError)) throw error;
    throw failure(`error decoding encryption provider configuration file ${quote(path)}: ${error.message}`);
  }
  const errors = validateEncryptionConfiguration(configuration, reload);
  if (errors.length > 0) throw failure(aggregate(errors));
  return { configuration, hash: hashLabel(content) };
}

/** Returns the hash of a file. Shows whether the file has changed, and is cheaper than loading it. */
export const configurationHash = (path: string): string => hashLabel(readConfiguration(path));

const failure = (what: string): EncryptionConfigError => new EncryptionConfigError(`error while parsing file: ${what}`);

function readConfiguration(path: string): Buffer {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    throw failure(
      `error while loading file: error reading encryption provider configuration file ${quote(path)}: ${messageOf(error)}`,
    );
  }
  if (content.length === 0)
    throw failure(`error while loading file: encryption provider configuration file ${quote(path)} is empty`);
  return content;
}

// If the kind is missing, kube-apiserver's error shows the whole text with its keys; this one shows none of it.
const decode = (text: string): EncryptionConfiguration =>
  decodeConfiguration(text, (apiVersion, kind) =>
    apiVersion === API_VERSION && kind === KIND ? new Reader() : undefined,
  );

/** Converts the decoded file, checks types, and records unknown fields. */
class Reader extends ConfigurationReader {
  configuration(root: JsonObject): EncryptionConfiguration {
    this.recordUnknownFields(root, ['apiVersion', 'kind', 'resources'], '');
    return {
      resources: this.list(root['resources'], 'resources').map((value, i) => {
        const at = `resources[${i}]`;
        const item = this.object(value, at);
        this.recordUnknownFields(item, ['resources', 'providers'], at);
        return {
          resources: this.list(item['resources'], `${at}.resources`).map(
            (one) => this.text(one, `${at}.resources`) ?? '',
          ),
          providers: this.list(item['providers'], `${at}.providers`).map((one, j) =>
            this.provider(this.object(one, `${at}.providers`), `${at}.providers[${j}]`),
          ),
        };
      }),
    };
  }

  private provider(item: JsonObject, at: string): ProviderConfiguration {
    this.recordUnknownFields(item, ['aesgcm', 'aescbc', 'secretbox', 'identity', 'kms'], at);
    const given = (name: string): JsonObject | undefined =>
      isAbsent(item[name]) ? undefined : this.object(item[name], `${at}.${name}`);
    const keys = (name: string): KeysConfiguration | undefined => {
      const value = given(name);
      return value && this.keys(value, `${at}.${name}`);
    };
    const identity = given('identity');
    if (identity !== undefined) this.recordUnknownFields(identity, [], `${at}.identity`);
    const kms = given('kms');
    return {
      aesgcm: keys('aesgcm'),
      aescbc: keys('aescbc'),
      secretbox: keys('secretbox'),
      identity: identity && {},
      kms: kms && this.kms(kms, `${at}.kms`),
    };
  }

  private keys(item: JsonObject, at: string): KeysConfiguration {
    this.recordUnknownFields(item, ['keys'], at);
    return {
      keys: this.list(item['keys'], `${at}.keys`).map((value, i) => {
        const where = `${at}.keys[${i}]`;
        const key = this.object(value, where);
        this.recordUnknownFields(key, ['name', 'secret'], where);
        return {
          name: this.text(key['name'], `${where}.name`) ?? '',
          secret: this.text(key['secret'], `${where}.secret`) ?? '',
        };
      }),
    };
  }

  private kms(item: JsonObject, at: string): KmsConfiguration {
    this.recordUnknownFields(item, ['apiVersion', 'name', 'cachesize', 'endpoint', 'timeout'], at);
    const text = (name: string): string => this.text(item[name], `${at}.${name}`) ?? '';
    const apiVersion = text('apiVersion') || 'v1';
    const size = item['cachesize'];
    if (!isAbsent(size) && !(typeof size === 'number' && Number.isInteger(size)))
      throw typeMismatch(size, `${at}.cachesize`, 'int32');
    return {
      apiVersion,
      name: text('name'),
      cachesize: typeof size === 'number' ? size : apiVersion === 'v1' ? KMS_V1_CACHE : undefined,
      endpoint: text('endpoint'),
      timeoutMillis: isAbsent(item['timeout']) ? KMS_TIMEOUT : durationOf(text('timeout')),
    };
  }
}

const isAbsent = (value: JsonValue | undefined): value is null | undefined => value === undefined || value === null;

function durationOf(text: string): number {
  try {
    return parseGoDuration(text);
  } catch (error) {
    throw new ConfigurationDecodeError(messageOf(error));
  }
}
