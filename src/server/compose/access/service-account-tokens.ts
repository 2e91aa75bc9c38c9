import type { KeyObject } from 'node:crypto';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import {
  type IssuerMetadata,
  issuerMetadata,
  JWKS_PATH,
  METADATA_MAX_AGE,
  OPENID_CONFIGURATION_PATH,
} from '../../../authentication/token/service-account/issuer-metadata.js';
import { ServiceAccountTokenAuthenticator } from '../../../authentication/token/service-account/service-account.js';
import {
  readSigningKey,
  readVerificationKeys,
  uniqueKeys,
  verificationKey,
  type VerificationKey,
} from '../../../authentication/token/service-account/service-account-keys.js';
import type {
  BoundKind,
  ServiceAccountObjects,
} from '../../../authentication/token/service-account/service-account-objects.js';
import {
  JwtSigner,
  type ServiceAccountTokenSigner,
} from '../../../authentication/token/service-account/service-account-signer.js';
import { interpretStorageError } from '../../../storage/interpret-error.js';
import { decodeStored } from '../../../storage/detached-object.js';
import type { ApiRegistry } from '../../../registry/generic/store/api-registry.js';
import type { ResourceStore } from '../../../registry/generic/store/resource-store.js';
import { tokenRequestSubresource } from '../../../registry/builtin/core/serviceaccounts/token-request.js';
import type { ResourceType } from '../../../registry/rest/interfaces.js';
import type { LoopbackClient } from '../../../registry/rest/loopback-client.js';
import { send } from '../../../endpoints/filters/status.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import { keyPem } from '../../../pki/certificates.js';
import type { Logger } from '../../../util/logger.js';
import type { NonResourceRoutes } from '../../http/non-resource-routes.js';
import { readFile, StartError } from '../../certificates/data-directory.js';
import { registerDocument } from '../../http/routed-document.js';
import type { Options } from '../../options/options.js';
import type { ServerContext } from '../server-context.js';

/** Reads objects from the stores. Before the types are installed it finds none. */
class StoredTokenObjects implements ServiceAccountObjects {
  constructor(private readonly registry: ApiRegistry) {}

  cached(kind: BoundKind, namespace: string, name: string): KubeObject | undefined {
    const store = this.store(kind);
    return store?.cache.peek(store.key(namespace, name))?.decode() as KubeObject | undefined;
  }

  async live(kind: BoundKind, namespace: string, name: string): Promise<KubeObject | undefined> {
    const store = this.store(kind);
    const stored = await store?.getLatest(store.key(namespace, name)).catch((error: unknown) => {
      throw interpretStorageError(error, 'get');
    });
    return stored === undefined ? undefined : (decodeStored(stored) as KubeObject);
  }

  private store(resource: BoundKind): ResourceStore | undefined {
    return this.registry.storeOf({ group: '', version: 'v1', resource });
  }
}

type LabelSecret = (secret: KubeObject, label: string, value: string) => void;

/** Returns a function that labels Secrets whose tokens are used. A conflict is harmless: the next use of the token retries. */
function secretLabeler(secrets: LoopbackClient, logger: Logger): LabelSecret {
  return (secret, label, value) => {
    const { metadata } = secret;
    const labelled = { ...secret, metadata: { ...metadata, labels: { ...metadata.labels, [label]: value } } };
    secrets.update(labelled).catch((error: unknown) => {
      logger.warn('cannot record the date of last use on a token secret', {
        namespace: metadata.namespace,
        name: metadata.name,
        error: messageOf(error),
      });
    });
  };
}

/** The components of the server that deal with service account tokens. */
export interface ServiceAccountTokens {
  readonly authenticator: ServiceAccountTokenAuthenticator;
  readonly signer: ServiceAccountTokenSigner;
  readonly objects: ServiceAccountObjects;
  readonly apiAudiences: readonly string[];
  /** Starts to label the Secrets whose tokens are used. */
  labelUsedSecrets(secrets: LoopbackClient): void;
  /** Registers the documents that other components need to verify the tokens. */
  install(routes: NonResourceRoutes, serverAddress: () => string): void;
}

/** `signingKeyPem` signs tokens. Throws StartError if a key file cannot be used. */
export function makeServiceAccountTokens(
  { options, apis, clock, logger }: ServerContext,
  signingKeyPem: string,
): ServiceAccountTokens {
  const signingKey = readSigningKey(signingKeyPem);
  const keys = loadVerificationKeys(options, signingKey);
  const issuers = options.serviceAccountIssuer;
  const issuer = issuers[0] ?? '';
  const apiAudiences = options.apiAudiences.length > 0 ? options.apiAudiences : issuers;
  const objects = new StoredTokenObjects(apis);
  let labelSecret: LabelSecret = () => undefined;
  return {
    objects,
    apiAudiences,
    signer: new JwtSigner(signingKey, issuer),
    authenticator: new ServiceAccountTokenAuthenticator({
      issuers,
      keys,
      audiences: apiAudiences,
      objects,
      lookup: options.serviceAccountLookup,
      clock,
      markUsed: (...use) => labelSecret(...use),
    }),
    labelUsedSecrets: (secrets) => {
      labelSecret = secretLabeler(secrets, logger);
    },
    install: (routes, serverAddress) => {
      const documents = (warn: (text: string) => void): IssuerMetadata | undefined =>
        issuerMetadata(issuer, options.serviceAccountJwksUri, serverAddress(), keys, warn);
      const made = documents((text) => logger.warn(text));
      if (made === undefined) return;
      // If the operating system chooses the port, the address is known only once the server is listening.
      const configuration = (): string => documents(() => undefined)?.configuration ?? made.configuration;
      registerPublic(routes, OPENID_CONFIGURATION_PATH, 'application/json', configuration);
      registerPublic(routes, JWKS_PATH, 'application/jwk-set+json', () => made.keySet);
    },
  };
}

/** Returns the types, with the subresource `token` added to service accounts. */
export function withTokenRequests(
  types: readonly ResourceType[],
  options: Options,
  { objects, signer, apiAudiences }: ServiceAccountTokens,
  clock: Clock,
): ResourceType[] {
  const token = tokenRequestSubresource({
    objects,
    signer,
    apiAudiences,
    maxExpirationSeconds: Math.floor(options.serviceAccountMaxTokenExpiration / 1000),
    extendExpiration: options.serviceAccountExtendTokenExpiration,
    clock,
  });
  return types.map((type) =>
    type.group === '' && type.resource === 'serviceaccounts' ? { ...type, created: { token } } : type,
  );
}

function registerPublic(routes: NonResourceRoutes, path: string, contentType: string, body: () => string): void {
  registerDocument(routes, path, contentType, (_context, _request, response) => {
    response.setHeader('Cache-Control', `public, max-age=${METADATA_MAX_AGE}`);
    send(response, 200, contentType, body());
  });
}

/** Reads the signing key that the flag names, as PEM. Throws StartError if it cannot be used. */
export const readSigningKeyFile = (file: string): string =>
  keyPem(parsed(file, 'service-account-signing-key-file', readSigningKey));

function parsed<T>(file: string, flag: string, parse: (text: string) => T): T {
  const content = readFile(file, `--${flag}`);
  try {
    return parse(content);
  } catch (error) {
    throw new StartError(`--${flag}: ${file} cannot be used: ${messageOf(error)}`);
  }
}

function loadVerificationKeys(options: Options, signingKey: KeyObject): VerificationKey[] {
  const files = options.serviceAccountKeyFile.flatMap((file) =>
    parsed(file, 'service-account-key-file', readVerificationKeys),
  );
  // As in kube-apiserver, if key files are given, only those verify tokens, whether or not the signing key is among them.
  if (files.length > 0) return uniqueKeys(files);
  const tls = options.tlsPrivateKeyFile;
  // A serving key of an unsupported kind is not an error: it was not given for this purpose.
  const serving = tls === '' ? [] : keysIfAny(readFile(tls, '--tls-private-key-file'));
  return uniqueKeys([verificationKey(signingKey), ...serving]);
}

function keysIfAny(content: string): VerificationKey[] {
  try {
    return readVerificationKeys(content);
  } catch {
    return [];
  }
}
