/**
 * What an option of the connection string may say.
 * - true: any value applies.
 * - text: only this value, which is what Annex does anyway.
 * - a number: at least so many milliseconds; `orNone` allows 0, which means no limit.
 * - false: never.
 */
type Rule = true | false | string | { readonly atLeast: number; readonly orNone?: true };

/**
 * The options of a connection string. Whatever would weaken a promise is refused by name, and so is everything that is not in this table:
 * the driver has options that change how values are encoded. docs/mongodb.md has the same table.
 */
export const URI_OPTIONS: Readonly<Record<string, Rule>> = {
  appName: true,
  authMechanism: true,
  authMechanismProperties: true,
  authSource: true,
  compressors: true,
  connectTimeoutMS: { atLeast: 500, orNone: true },
  directConnection: true,
  fsync: false,
  heartbeatFrequencyMS: { atLeast: 500 },
  j: 'true',
  journal: 'true',
  loadBalanced: 'false',
  localThresholdMS: true,
  maxConnecting: true,
  maxIdleTimeMS: true,
  maxPoolSize: true,
  maxStalenessSeconds: false,
  minPoolSize: true,
  proxyHost: true,
  proxyPassword: true,
  proxyPort: true,
  proxyUsername: true,
  readConcern: false,
  readConcernLevel: 'majority',
  readPreference: 'primary',
  readPreferenceTags: false,
  replicaSet: true,
  retryReads: 'true',
  retryWrites: 'true',
  serverMonitoringMode: true,
  serverSelectionTimeoutMS: { atLeast: 500 },
  // An open change stream is silent for a second at a time.
  socketTimeoutMS: { atLeast: 5_000, orNone: true },
  srvMaxHosts: true,
  srvServiceName: true,
  ssl: true,
  timeoutMS: false,
  tls: true,
  tlsAllowInvalidCertificates: 'false',
  tlsAllowInvalidHostnames: 'false',
  tlsCAFile: true,
  tlsCRLFile: true,
  tlsCertificateKeyFile: true,
  tlsCertificateKeyFilePassword: true,
  tlsInsecure: 'false',
  w: 'majority',
  waitQueueTimeoutMS: { atLeast: 1_000, orNone: true },
  writeConcern: false,
  wtimeout: '0',
  wtimeoutMS: '0',
  zlibCompressionLevel: true,
};

const RULES: ReadonlyMap<string, readonly [string, Rule]> = new Map(
  Object.entries(URI_OPTIONS).map(([name, rule]) => [name.toLowerCase(), [name, rule]]),
);

/** Returns the options of a connection string. Their names are not case-sensitive. */
export function uriOptions(uri: string): URLSearchParams {
  const [, query = ''] = uri.split('?', 2);
  return new URLSearchParams(query);
}

/** Returns why a connection string must not be used, or undefined if it may. Secrets are never part of the reason. */
export function refusedUriOption(uri: string): string | undefined {
  for (const [given, value] of uriOptions(uri)) {
    const known = RULES.get(given.toLowerCase());
    if (known === undefined) return `the MongoDB URI has the option ${given}, which Annex does not accept: remove it`;
    const reason = reasonAgainst(value, ...known);
    if (reason !== undefined) return `the MongoDB URI has ${given}=${value}, ${reason}`;
  }
  return undefined;
}

function reasonAgainst(value: string, name: string, rule: Rule): string | undefined {
  if (rule === true) return undefined;
  if (rule === false) return 'which would weaken what Annex promises: remove it';
  if (typeof rule === 'string')
    return value === rule ? undefined : `but Annex needs ${name}=${rule}, which it sets itself: remove it`;
  const { atLeast, orNone } = rule;
  const millis = Number(value);
  if ((orNone === true && millis === 0) || millis >= atLeast) return undefined;
  return `with which Annex cannot work: set at least ${atLeast}, or remove it`;
}
