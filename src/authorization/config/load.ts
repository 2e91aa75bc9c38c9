import { goKind } from '../../apimachinery/json/decode.js';
import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import {
  ConfigurationDecodeError,
  ConfigurationReader,
  decodeConfiguration,
  typeMismatch,
  configVersionOf,
  isDecodeError,
} from '../../apimachinery/yaml/configuration-file.js';
import { parseGoDuration } from '../../go/duration.js';
import {
  AuthorizationConfigError,
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  type WebhookConfiguration,
} from './types.js';
import { messageOf } from '../../util/error-message.js';

const OTHER_KINDS: readonly string[] = [
  'AuthenticationConfiguration',
  'AdmissionConfiguration',
  'EgressSelectorConfiguration',
  'EncryptionConfiguration',
  'TracingConfiguration',
];
const AUTHORIZED_TTL = 300_000;
const UNAUTHORIZED_TTL = 30_000;

/** Decodes a configuration file, YAML or JSON, strictly. Throws AuthorizationConfigError. */
export function loadAuthorizationConfiguration(text: string): AuthorizationConfiguration {
  if (text === '') return { authorizers: [] };
  try {
    return decodeConfiguration(text, readerOf, ` in '${text}'`);
  } catch (error) {
    throw isDecodeError(error)
      ? new AuthorizationConfigError(`failed to load AuthorizationConfiguration from file: ${error.message}`)
      : error;
  }
}

function readerOf(apiVersion: string, kind: string): Reader | undefined {
  const version = configVersionOf(apiVersion);
  if (version === undefined) return undefined;
  if (OTHER_KINDS.includes(kind)) {
    throw new ConfigurationDecodeError(`expected AuthorizationConfiguration, got *apiserver.${kind}`);
  }
  return kind === 'AuthorizationConfiguration' ? new Reader(version) : undefined;
}

/** Converts the decoded file, checks types as Go's decoder does, and records unknown fields. */
class Reader extends ConfigurationReader {
  constructor(private readonly version: string) {
    super();
  }

  configuration(root: JsonObject): AuthorizationConfiguration {
    const known = ['apiVersion', 'kind', 'authorizers'];
    const list = this.typedList(
      root['authorizers'],
      'AuthorizationConfiguration.authorizers',
      'AuthorizerConfiguration',
    );
    const authorizers = list.map((item, index) => this.authorizer(item, `authorizers[${index}]`));
    this.recordUnknownFields(root, known, '');
    return { authorizers };
  }

  private authorizer(item: JsonObject, path: string): AuthorizerConfiguration {
    const at = 'AuthorizerConfiguration.authorizers';
    const name = this.text(item['name'], `${at}.name`) ?? '';
    const type = this.text(item['type'], `${at}.type`) ?? '';
    const given = this.typed(item['webhook'], `${at}.webhook`, 'WebhookConfiguration');
    const webhook = given === undefined ? undefined : this.webhook(given, `${path}.webhook`);
    this.recordUnknownFields(item, ['name', 'type', 'webhook'], path);
    return { type, name, webhook };
  }

  private webhook(item: JsonObject, path: string): WebhookConfiguration {
    const at = 'WebhookConfiguration.authorizers.webhook';
    const text = (key: string): string => this.text(item[key], `${at}.${key}`) ?? '';
    const duration = (key: string): number => this.duration(item[key]);
    const flag = (key: string): boolean => this.flag(item[key], `${at}.${key}`) ?? true;
    const conditions = this.typedList(item['matchConditions'], `${at}.matchConditions`, 'WebhookMatchCondition');
    const configuration: WebhookConfiguration = {
      authorizedTTL: duration('authorizedTTL') || AUTHORIZED_TTL,
      cacheAuthorizedRequests: flag('cacheAuthorizedRequests'),
      unauthorizedTTL: duration('unauthorizedTTL') || UNAUTHORIZED_TTL,
      cacheUnauthorizedRequests: flag('cacheUnauthorizedRequests'),
      timeout: duration('timeout'),
      subjectAccessReviewVersion: text('subjectAccessReviewVersion'),
      matchConditionSubjectAccessReviewVersion: text('matchConditionSubjectAccessReviewVersion'),
      failurePolicy: text('failurePolicy'),
      connectionInfo: this.connection(item['connectionInfo'], `${path}.connectionInfo`),
      matchConditions: conditions.map((condition, index) => {
        const where = `WebhookMatchCondition.authorizers.webhook.matchConditions.expression`;
        this.recordUnknownFields(condition, ['expression'], `${path}.matchConditions[${index}]`);
        return this.text(condition['expression'], where) ?? '';
      }),
    };
    this.recordUnknownFields(item, Object.keys(configuration), path);
    return configuration;
  }

  private connection(value: JsonValue | undefined, path: string): WebhookConfiguration['connectionInfo'] {
    const at = 'authorizers.webhook.connectionInfo';
    const item = this.typed(value, `WebhookConfiguration.${at}`, 'WebhookConnectionInfo') ?? {};
    const read = (key: string): string | undefined => this.text(item[key], `WebhookConnectionInfo.${at}.${key}`);
    this.recordUnknownFields(item, ['type', 'kubeConfigFile'], path);
    return { type: read('type') ?? '', kubeConfigFile: read('kubeConfigFile') };
  }

  private duration(value: JsonValue | undefined): number {
    if (value === undefined || value === null) return 0;
    if (typeof value !== 'string')
      throw new ConfigurationDecodeError(`json: cannot unmarshal ${goKind(value)} into Go value of type string`);
    try {
      return parseGoDuration(value);
    } catch (error) {
      throw new ConfigurationDecodeError(messageOf(error));
    }
  }

  private typed(value: JsonValue | undefined, field: string, type: string): JsonObject | undefined {
    if (value === undefined || value === null) return undefined;
    if (!isObject(value)) throw typeMismatch(value, field, `${this.version}.${type}`);
    return value;
  }

  private typedList(value: JsonValue | undefined, field: string, type: string): readonly JsonObject[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw typeMismatch(value, field, `[]${this.version}.${type}`);
    return value.map((item) => this.typed(item, field, type) ?? {});
  }
}
