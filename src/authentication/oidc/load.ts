import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import {
  ConfigurationReader,
  decodeConfiguration,
  typeMismatch,
  configVersionOf,
  isDecodeError,
} from '../../apimachinery/yaml/configuration-file.js';
import {
  type AnonymousConfig,
  type AuthenticationConfiguration,
  AuthenticationConfigError,
  type ClaimMappings,
  type IssuerConfig,
  type JwtAuthenticatorConfig,
  type PrefixedMapping,
} from './types.js';

/** Decodes a configuration file, YAML or JSON, strictly. Throws AuthenticationConfigError. */
export function loadAuthenticationConfiguration(text: string): AuthenticationConfiguration {
  if (text.trim() === '') throw new AuthenticationConfigError('empty config data');
  try {
    return decodeConfiguration(text, readerOf);
  } catch (error) {
    throw isDecodeError(error) ? new AuthenticationConfigError(error.message) : error;
  }
}

const readerOf = (apiVersion: string, kind: string): Reader | undefined =>
  kind === 'AuthenticationConfiguration' && configVersionOf(apiVersion) !== undefined ? new Reader() : undefined;

/** Converts the decoded file, checks types, and records unknown fields. */
class Reader extends ConfigurationReader {
  configuration(root: JsonObject): AuthenticationConfiguration {
    this.recordUnknownFields(root, ['apiVersion', 'kind', 'jwt', 'anonymous'], '');
    return {
      jwt: this.objects(root['jwt'], 'jwt').map((item, i) => this.authenticator(item, `jwt[${i}]`)),
      anonymous: this.anonymous(root['anonymous']),
    };
  }

  private anonymous(value: JsonValue | undefined): AnonymousConfig | undefined {
    if (value === undefined || value === null) return undefined;
    const item = this.object(value, 'anonymous');
    this.recordUnknownFields(item, ['enabled', 'conditions'], 'anonymous');
    return {
      enabled: this.flag(item['enabled'], 'anonymous.enabled') ?? false,
      conditions: this.objects(item['conditions'], 'anonymous.conditions').map((condition, i) => {
        const path = `anonymous.conditions[${i}]`;
        this.recordUnknownFields(condition, ['path'], path);
        return this.text(condition['path'], `${path}.path`) ?? '';
      }),
    };
  }

  private authenticator(item: JsonObject, path: string): JwtAuthenticatorConfig {
    this.recordUnknownFields(item, ['issuer', 'claimValidationRules', 'claimMappings', 'userValidationRules'], path);
    const at = `${path}.claimValidationRules`;
    const userAt = `${path}.userValidationRules`;
    return {
      issuer: this.issuer(this.object(item['issuer'], `${path}.issuer`), `${path}.issuer`),
      claimValidationRules: this.objects(item['claimValidationRules'], at).map((rule, i) =>
        this.texts(rule, ['claim', 'requiredValue', 'expression', 'message'], `${at}[${i}]`),
      ),
      claimMappings: this.mappings(
        this.object(item['claimMappings'], `${path}.claimMappings`),
        `${path}.claimMappings`,
      ),
      userValidationRules: this.objects(item['userValidationRules'], userAt).map((rule, i) =>
        this.texts(rule, ['expression', 'message'], `${userAt}[${i}]`),
      ),
    };
  }

  private issuer(item: JsonObject, path: string): IssuerConfig {
    const { audiences, ...rest } = item;
    const names = ['url', 'discoveryURL', 'certificateAuthority', 'audienceMatchPolicy', 'egressSelectorType'] as const;
    return { ...this.texts(rest, names, path), audiences: this.strings(audiences, `${path}.audiences`) };
  }

  private mappings(item: JsonObject, path: string): ClaimMappings {
    this.recordUnknownFields(item, ['username', 'groups', 'uid', 'extra'], path);
    const uid = this.object(item['uid'], `${path}.uid`);
    return {
      username: this.prefixed(item['username'], `${path}.username`),
      groups: this.prefixed(item['groups'], `${path}.groups`),
      uid: this.texts(uid, ['claim', 'expression'], `${path}.uid`),
      extra: this.objects(item['extra'], `${path}.extra`).map((entry, i) =>
        this.texts(entry, ['key', 'valueExpression'], `${path}.extra[${i}]`),
      ),
    };
  }

  private prefixed(value: JsonValue | undefined, path: string): PrefixedMapping {
    const item = this.object(value, path);
    const { claim, prefix, expression } = this.texts(item, ['claim', 'prefix', 'expression'], path);
    const given = item['prefix'] !== undefined && item['prefix'] !== null;
    return { claim, prefix: given ? prefix : undefined, expression };
  }

  private objects(value: JsonValue | undefined, path: string): readonly JsonObject[] {
    return this.list(value, path).map((item, i) => this.object(item, `${path}[${i}]`));
  }

  /** Reads an object whose fields are all strings, and refuses other fields. */
  private texts<K extends string>(item: JsonObject, keys: readonly K[], path: string): Record<K, string> {
    this.recordUnknownFields(item, keys, path);
    return Object.fromEntries(keys.map((key) => [key, this.text(item[key], `${path}.${key}`) ?? ''])) as Record<
      K,
      string
    >;
  }

  private strings(value: JsonValue | undefined, path: string): readonly string[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw typeMismatch(value, path, '[]string');
    return value.map((item) => {
      if (typeof item !== 'string') throw typeMismatch(item, path, 'string');
      return item;
    });
  }
}
