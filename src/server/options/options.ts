import { isIP } from 'node:net';
import {
  UNIMPLEMENTED_PLUGINS,
  DEFAULT_PLUGINS,
  IMPLEMENTED_PLUGINS,
  pluginFlagError,
} from '../../admission/plugin-names.js';
import { featureGates } from '../../util/feature-gates.js';
import { controllerNames, DISABLED_BY_DEFAULT } from './controller-names.js';
import { AUTHENTICATION_FLAGS, validateAuthenticationOptions } from './authentication-options.js';
import { AGGREGATION_FLAGS, validateAggregationOptions } from './aggregation-options.js';
import { AUDIT_FLAGS } from './audit-options.js';
import { AUTHORIZATION_FLAGS, validateAuthorizationOptions } from './authorization-options.js';
import {
  bool,
  deprecated,
  duration,
  type Flag,
  FlagError,
  flagsOf,
  type FlagValues,
  type GivenFlags,
  float,
  int,
  ip,
  list,
  text,
} from './flags.js';
import { LOGGING_FLAGS, validateLoggingOptions } from './logging-options.js';
import { METRICS_FLAGS, validateMetricsOptions } from './metrics-options.js';
import { TRACING_FLAGS } from './tracing-options.js';
import {
  STORAGE_FLAGS,
  validateEncryptionOptions,
  validateCacheDirOptions,
  validateStorageOptions,
} from './storage-options.js';

const generic = flagsOf('Generic flags:');
const storage = flagsOf('Storage flags:');
const serving = flagsOf('Secure serving flags:');
const authentication = flagsOf('Authentication flags:');
const features = flagsOf('Features flags:');
const apiEnablement = flagsOf('API enablement flags:');
const controllers = flagsOf('Controllers flags:');
const admission = flagsOf('Admission flags:');

const PLUGIN_NAMES = `Admission plugins: ${IMPLEMENTED_PLUGINS.join(', ')}. Names of kube-apiserver's other plugins are accepted, but have no effect: ${UNIMPLEMENTED_PLUGINS.join(', ')}. The order of the names does not matter.`;

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Every flag of `annex serve`. Flags that kube-apiserver also has keep its names, meanings, and defaults. */
export const FLAGS = {
  dataDir: storage(
    'data-dir',
    text,
    '.annex',
    'Directory for the certificates, the admin kubeconfig and the embedded store.',
  ),
  ...STORAGE_FLAGS,
  cacheBudget: storage(
    'cache-budget',
    int(0),
    128 * 1024 * 1024,
    'Bytes of memory for representations derived from cached objects (joined, compressed, tables). Objects of the embedded store, and with --cache-dir those of MongoDB, beyond half of this size are kept outside the heap.',
  ),
  bindAddress: serving('bind-address', text, '0.0.0.0', 'IP address to listen on; 0.0.0.0 or :: for all interfaces.'),
  advertiseAddress: generic(
    'advertise-address',
    ip,
    '',
    "IP address at which clients reach the server, for cluster-info, discovery and the server's own certificate. Defaults to --bind-address or, if that is unspecified, the address of the host's default interface.",
  ),
  securePort: serving('secure-port', int(0, 65535), 6443, 'Port for HTTPS. 0 lets the system choose one.'),
  tlsCertFile: serving(
    'tls-cert-file',
    text,
    '',
    'PEM file of the serving certificate, followed by its CA certificates, if any. If unset, a CA of Annex issues the certificate.',
  ),
  tlsPrivateKeyFile: serving(
    'tls-private-key-file',
    text,
    '',
    'PEM file of the private key that belongs to --tls-cert-file.',
  ),
  http2MaxStreams: serving(
    'http2-max-streams-per-connection',
    int(0, 2 ** 31 - 1),
    250,
    'Maximum number of concurrent streams on an HTTP/2 connection. 0 means 250.',
  ),
  maxRequestsInflight: generic(
    'max-requests-inflight',
    int(0),
    400,
    'Maximum number of concurrent read requests, of which one user may use three quarters; further requests wait in the queue of their user, and are rejected with 429 if it is full or after a quarter of --request-timeout. Watches do not count. 0: no limit.',
  ),
  maxMutatingRequestsInflight: generic(
    'max-mutating-requests-inflight',
    int(0),
    200,
    'Like --max-requests-inflight, for write requests. 0: no limit.',
  ),
  maxWatchesPerUser: generic(
    'max-watches-per-user',
    int(0),
    5_000,
    'Maximum number of watches of one user on this server, where each KiB of a query counts as another watch; further watches are rejected with 429. Does not apply to system:masters. 0: no limit.',
  ),
  maxRequestBodyBytes: generic(
    'max-request-body-bytes',
    int(0),
    3 * 1024 * 1024,
    'Maximum size of the request body of a write in bytes; larger ones are rejected with 413. 0: no limit.',
  ),
  requestTimeout: generic(
    'request-timeout',
    duration,
    MINUTE,
    'Timeout of requests other than watches and other long-running requests; a client may request a shorter one with the parameter timeout.',
  ),
  minRequestTimeout: generic(
    'min-request-timeout',
    int(1),
    1800,
    'Minimum number of seconds that a watch without timeoutSeconds stays open; each gets a random timeout of up to twice that.',
  ),
  goawayChance: generic(
    'goaway-chance',
    float(0, 0.02),
    0,
    'Probability that a request causes an HTTP/2 client to reconnect, which spreads connections across replicas. At most 0.02.',
  ),
  livezGracePeriod: generic(
    'livez-grace-period',
    duration,
    0,
    'How long after startup /livez treats unfinished startup work as healthy.',
  ),
  shutdownDelayDuration: generic(
    'shutdown-delay-duration',
    duration,
    0,
    'How long to keep serving requests after SIGTERM while /readyz fails, so that load balancers notice.',
  ),
  emulatedVersion: generic(
    'emulated-version',
    list,
    [],
    'Version of Kubernetes whose feature gates and APIs are served, as major.minor or kube=major.minor; 1.34 to 1.37. Defaults to 1.37.',
  ),
  minCompatibilityVersion: generic(
    'min-compatibility-version',
    list,
    [],
    'Oldest version of Kubernetes with which newly stored expressions must be compatible, in the same format; from 1.34 to the emulated version. Defaults to the version before the emulated version.',
  ),
  emulationForwardCompatible: generic(
    'emulation-forward-compatible',
    bool,
    false,
    'Also serve API versions that were introduced after --emulated-version if a lower version of the same resource, beta or stable, is served. Only with an emulated version below 1.37.',
  ),
  runtimeConfigEmulationForwardCompatible: generic(
    'runtime-config-emulation-forward-compatible',
    bool,
    false,
    'Allow --runtime-config to enable API versions that were introduced after --emulated-version; otherwise, naming such a resource is an error. Only with an emulated version below 1.37.',
  ),
  deprecationWarnings: generic(
    'deprecation-warnings',
    bool,
    true,
    'Log a warning at startup for each deprecated flag or feature gate in use.',
  ),
  strictTransportSecurity: generic(
    'strict-transport-security-directives',
    list,
    [],
    'Directives of the Strict-Transport-Security header; if empty, the header is not sent.',
  ),
  anonymousAuth: authentication(
    'anonymous-auth',
    bool,
    true,
    'Serve requests without credentials as system:anonymous. Has no effect with --authorization-mode=AlwaysAllow.',
  ),
  clientCaFile: authentication(
    'client-ca-file',
    text,
    '',
    'PEM file of CAs. A client with a certificate signed by one of them is authenticated as the user in its common name. Reloaded when it changes.',
  ),
  tokenAuthFile: authentication(
    'token-auth-file',
    text,
    '',
    'CSV file of static tokens: token, user name, user uid and optionally groups.',
  ),
  requestheaderClientCaFile: authentication(
    'requestheader-client-ca-file',
    text,
    '',
    'PEM file of the CAs of authenticating proxies. Reloaded when it changes.',
  ),
  requestheaderAllowedNames: authentication(
    'requestheader-allowed-names',
    list,
    [],
    'Common names of trusted proxies; if empty, every certificate signed by the CA is trusted.',
  ),
  requestheaderUsernameHeaders: authentication(
    'requestheader-username-headers',
    list,
    [],
    'Headers with the user name; the first non-empty one is used. X-Remote-User is common.',
  ),
  requestheaderUidHeaders: authentication(
    'requestheader-uid-headers',
    list,
    [],
    'Headers with the uid. X-Remote-Uid is common.',
  ),
  requestheaderGroupHeaders: authentication(
    'requestheader-group-headers',
    list,
    [],
    'Headers with groups. X-Remote-Group is common.',
  ),
  requestheaderExtraHeadersPrefix: authentication(
    'requestheader-extra-headers-prefix',
    list,
    [],
    'Prefixes of headers with extra information about the user. X-Remote-Extra- is common.',
  ),
  ...AUTHENTICATION_FLAGS,
  ...AUTHORIZATION_FLAGS,
  ...AUDIT_FLAGS,
  ...AGGREGATION_FLAGS,
  runtimeConfig: apiEnablement(
    'runtime-config',
    list,
    [],
    'Pairs of key=value (true if the value is omitted) that enable or disable APIs: <group>/<version> for a version, /v1 for the version of the core group, <group>/<version>/<resource> for one resource; api/all, api/ga, api/beta and api/alpha for all versions of built-in types, or those of a stage. A longer key takes precedence over a shorter one. Versions of custom resources can be disabled, too, to rehearse their removal; their objects are kept.',
  ),
  ...METRICS_FLAGS,
  featureGates: features(
    'feature-gates',
    list,
    [],
    `Pairs of name=value. Options are:\n${featureGates.knownFeatures().join('\n')}`,
  ),
  enableAdmissionPlugins: admission(
    'enable-admission-plugins',
    list,
    [],
    `Admission plugins to run in addition to those that run by default (${DEFAULT_PLUGINS.join(', ')}). ${PLUGIN_NAMES}`,
  ),
  disableAdmissionPlugins: admission(
    'disable-admission-plugins',
    list,
    [],
    `Admission plugins not to run, out of those that run by default (${DEFAULT_PLUGINS.join(', ')}). ${PLUGIN_NAMES}`,
  ),
  admissionControl: deprecated(
    admission(
      'admission-control',
      list,
      [],
      `The admission plugins to run, instead of those that run by default. ${PLUGIN_NAMES}`,
    ),
    'Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.',
  ),
  admissionControlConfigFile: admission(
    'admission-control-config-file',
    text,
    '',
    'File with an AdmissionConfiguration, which names the kubeconfigs with the credentials for admission webhooks, and the folders with policies and webhook configurations.',
  ),
  controllers: controllers(
    'controllers',
    list,
    ['*'],
    `Controllers to run: '*' enables all that are on by default, 'name' enables one, '-name' disables one; an empty value disables all. All: ${controllerNames().join(', ')}. Off by default: ${DISABLED_BY_DEFAULT.join(', ')}.`,
  ),
  useServiceAccountCredentials: controllers(
    'use-service-account-credentials',
    bool,
    false,
    'Run each controller under its own service account, with the permissions of its role.',
  ),
  legacyServiceAccountTokenCleanUpPeriod: controllers(
    'legacy-service-account-token-clean-up-period',
    duration,
    365 * 24 * 3_600_000,
    'How long a generated service account token must be unused before its Secret is marked as invalid, and as long again before it is removed.',
  ),
  ...LOGGING_FLAGS,
  ...TRACING_FLAGS,
} as const;

/** The values of all flags. */
export type Options = FlagValues<typeof FLAGS> & GivenFlags;

export function defaultOptions(): Options {
  const values = Object.entries(FLAGS).map(([key, { default: value }]): [string, unknown] => [key, value]);
  return Object.fromEntries([...values, ['given', new Set<string>()]]) as unknown as Options;
}

/** Validates what parsing a single flag cannot. Throws FlagError for the first problem. */
export function validateOptions(options: Options): void {
  if (isIP(options.bindAddress) === 0) {
    throw new FlagError(
      `invalid argument ${JSON.stringify(options.bindAddress)} for --bind-address: must be an IP address`,
    );
  }
  if ((options.tlsCertFile === '') !== (options.tlsPrivateKeyFile === '')) {
    throw new FlagError('--tls-cert-file and --tls-private-key-file must be given together');
  }
  if (options.legacyServiceAccountTokenCleanUpPeriod === 0) {
    throw new FlagError('--legacy-service-account-token-clean-up-period must be positive');
  }
  if (options.requestTimeout === 0) throw new FlagError('--request-timeout must be positive');
  // This comes first, because flags without any effect need not be consistent.
  validateAggregationOptions(options);
  validateAuthenticationOptions(options);
  validateMetricsOptions(options);
  validateLoggingOptions(options);
  validateStorageOptions(options);
  validateCacheDirOptions(options);
  validateEncryptionOptions(options);
  validateAuthorizationOptions(options);
  validateRequestHeader(options);
  validateAdmissionPlugins(options);
}

function validateAdmissionPlugins(options: Options): void {
  const admissionControl = options.given.has('admission-control') ? options.admissionControl : undefined;
  const wrong = pluginFlagError({ ...options, admissionControl });
  if (wrong !== undefined) throw new FlagError(wrong);
}

/** Returns a warning for each deprecated flag that the command line sets. */
export function deprecatedFlagWarnings({ given }: GivenFlags): string[] {
  const flags: readonly Flag<unknown>[] = Object.values(FLAGS);
  return flags
    .filter(({ name, deprecated: instead }) => instead !== undefined && given.has(name))
    .map(({ name, deprecated: instead = '' }) => `Flag --${name} has been deprecated, ${instead}`);
}

function validateRequestHeader(options: Options): void {
  if (options.requestheaderClientCaFile === '') {
    if (options.requestheaderUsernameHeaders.length > 0) {
      throw new FlagError('--requestheader-username-headers requires --requestheader-client-ca-file');
    }
    return;
  }
  if (options.requestheaderUsernameHeaders.length === 0) {
    throw new FlagError('--requestheader-client-ca-file requires --requestheader-username-headers');
  }
  for (const key of [
    'requestheaderUsernameHeaders',
    'requestheaderUidHeaders',
    'requestheaderGroupHeaders',
    'requestheaderExtraHeadersPrefix',
  ] as const) {
    if (options[key].some((header) => header.trim() === '')) {
      throw new FlagError(`--${FLAGS[key].name}: empty header`);
    }
  }
}
