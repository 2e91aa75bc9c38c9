import { type FieldError, FieldPath, invalid, Printed, required } from '../../apimachinery/meta/field-error.js';
import { quote } from '../../apimachinery/meta/meta.js';
import { decodeBase64 } from '../../go/base64.js';
import { formatGoDuration } from '../../go/duration.js';
import type { EncryptionConfiguration, KeysConfiguration, KmsConfiguration, ProviderConfiguration } from './types.js';

const AES_SIZES = [16, 24, 32];
const SECRETBOX_SIZES = [32];
const WITHOUT_REST = ['apiserveripinfo', 'serviceipallocations', 'servicenodeportallocations'];

/** Splits `resource.group` at the first dot. */
export function parseGroupResource(text: string): { readonly resource: string; readonly group: string } {
  const dot = text.indexOf('.');
  return dot < 0 ? { resource: text, group: '' } : { resource: text.slice(0, dot), group: text.slice(dot + 1) };
}

/** Returns kube-apiserver's validation errors of a configuration. `reload`: whether it is reloaded while the server runs. */
export function validateEncryptionConfiguration(
  { resources }: EncryptionConfiguration,
  reload: boolean,
): readonly FieldError[] {
  const root = FieldPath.of('resources');
  if (resources.length === 0) return [required(root, atLeastOne(String(root)))];
  const kmsNames = new Set<string>();
  return resources.flatMap((configuration, i) => {
    const r = root.index(i).child('resources');
    const p = root.index(i).child('providers');
    return [
      ...(configuration.resources.length === 0 ? [required(r, atLeastOne(String(r)))] : []),
      ...overlaps(configuration.resources, r),
      ...configuration.resources.flatMap((name, j) => resourceName(name, r.index(j))),
      ...(configuration.providers.length === 0 ? [required(p, atLeastOne(String(p)))] : []),
      ...configuration.providers.flatMap((provider, j) => {
        const errors = validateProvider(provider, p.index(j), kmsNames, reload);
        if (provider.kms !== undefined) kmsNames.add(provider.kms.name);
        return errors;
      }),
    ];
  });
}

const atLeastOne = (what: string): string => `at least one ${what} is required`;

function overlaps(resources: readonly string[], at: FieldPath): FieldError[] {
  const parsed = resources.map(parseGroupResource);
  let isDuplicate = false;
  let isOverlap = false;
  for (const [i, a] of parsed.entries()) {
    for (const [j, b] of parsed.entries()) {
      if (i === j) continue;
      // As in kube-apiserver: the first pair of equal names only counts as a duplicate.
      if (a.group === b.group && a.resource === b.resource && !isDuplicate) {
        isDuplicate = true;
        continue;
      }
      const any = a.group === '*' && a.resource === '*';
      if (any || (a.group === b.group && (a.resource === '*' || b.resource === '*'))) isOverlap = true;
    }
  }
  const problems = [
    ...(isDuplicate ? ['the same resource cannot be specified multiple times'] : []),
    ...(isOverlap
      ? [
          "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
        ]
      : []),
  ];
  return problems.map((why) => invalid(at, [...resources], why));
}

function resourceName(name: string, at: FieldPath): FieldError[] {
  const why = invalidNameReason(name);
  return why === undefined ? [] : [invalid(at, name, why)];
}

function invalidNameReason(name: string): string | undefined {
  if (name.toLowerCase() !== name) return 'resource name should not contain capital letters';
  if (name === '*') return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  if (WITHOUT_REST.includes(name)) return 'resources which do not have REST API/s cannot be encrypted';
  const { resource, group } = parseGroupResource(name);
  if (group === 'events.k8s.io')
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  if (group === 'extensions') return "'extensions' group has been removed and cannot be used for encryption";
  if (group === '*' && resource !== '*') return 'encrypting the same resource across groups is not supported';
  return undefined;
}

function validateProvider(
  provider: ProviderConfiguration,
  at: FieldPath,
  kmsNames: ReadonlySet<string>,
  reload: boolean,
): FieldError[] {
  const { kms, aesgcm, aescbc, secretbox, identity } = provider;
  const found = [kms, aesgcm, aescbc, secretbox, identity].filter((one) => one !== undefined).length;
  const errors: FieldError[] = [];
  const refuse = (why: string): void => {
    errors.push(invalid(at, printed(provider), why));
  };
  if (found === 0)
    refuse('provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity');
  if (found > 1)
    refuse('more than one provider specified in a single element, should split into different list elements');
  if (kms !== undefined) errors.push(...validateKms(kms, at.child('kms'), kmsNames, reload));
  else if (aesgcm !== undefined) errors.push(...validateKeys(aesgcm, at.child('aesgcm', 'keys'), AES_SIZES));
  else if (aescbc !== undefined) errors.push(...validateKeys(aescbc, at.child('aescbc', 'keys'), AES_SIZES));
  else if (secretbox !== undefined)
    errors.push(...validateKeys(secretbox, at.child('secretbox', 'keys'), SECRETBOX_SIZES));
  return errors;
}

/** Prints a provider like Go does, without its keys. */
function printed({ aesgcm, aescbc, secretbox, identity, kms }: ProviderConfiguration): Printed {
  const keys = (given: KeysConfiguration | undefined): object | null =>
    given === undefined ? null : { Keys: given.keys.map(({ name }) => ({ Name: name, Secret: 'REDACTED' })) };
  return new Printed(
    JSON.stringify({
      AESGCM: keys(aesgcm),
      AESCBC: keys(aescbc),
      Secretbox: keys(secretbox),
      Identity: identity ?? null,
      KMS:
        kms === undefined
          ? null
          : {
              APIVersion: kms.apiVersion,
              Name: kms.name,
              CacheSize: kms.cachesize ?? null,
              Endpoint: kms.endpoint,
              Timeout: formatGoDuration(kms.timeoutMillis),
            },
    }),
  );
}

function validateKeys({ keys }: KeysConfiguration, at: FieldPath, sizes: readonly number[]): FieldError[] {
  if (keys.length === 0) return [required(at, atLeastOne('keys'))];
  return keys.flatMap(({ name, secret }, i) => {
    const path = at.index(i);
    const errors = name === '' ? [required(path.child('name'), 'name is a mandatory field for a key')] : [];
    if (secret === '') return [...errors, required(path.child('secret'), 'secret is a mandatory field for a key')];
    const key = decodeBase64(secret);
    if (key === undefined)
      return [...errors, invalid(path.child('secret'), 'REDACTED', 'secrets must be base64 encoded')];
    if (sizes.includes(key.length)) return errors;
    const why = `secret is not of the expected length, got ${key.length}, expected one of [${sizes.join(' ')}]`;
    return [...errors, invalid(path.child('secret'), 'REDACTED', why)];
  });
}

function validateKms(
  { apiVersion, name, cachesize, endpoint, timeoutMillis }: KmsConfiguration,
  at: FieldPath,
  names: ReadonlySet<string>,
  reload: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  const isV1 = apiVersion === 'v1';
  const refuse = (field: string, value: string | number, why: string): void => {
    errors.push(invalid(at.child(field), value, why));
  };
  if (name === '') errors.push(required(at.child('name'), 'name is a mandatory field for a provider'));
  if (!isV1 && name.includes(':')) refuse('name', name, `invalid KMS provider name ${name}, must not contain ':'`);
  if ((reload || !isV1) && names.has(name))
    refuse('name', name, `duplicate KMS provider name ${name}, names must be unique`);
  if (timeoutMillis <= 0) refuse('timeout', formatGoDuration(timeoutMillis), 'timeout should be a positive value');
  errors.push(...validateEndpoint(endpoint, at.child('endpoint')));
  if (!isV1 && cachesize !== undefined) refuse('cachesize', cachesize, 'cachesize is not supported in v2');
  if (isV1 && cachesize === 0)
    refuse('cachesize', cachesize, 'cachesize should be a positive value, or negative to disable');
  if (!isV1 && apiVersion !== 'v2')
    refuse(
      'apiVersion',
      apiVersion,
      'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported',
    );
  return errors;
}

function validateEndpoint(endpoint: string, at: FieldPath): FieldError[] {
  if (endpoint === '') return [invalid(at, '', 'endpoint is a mandatory field for a kms')];
  if (endpoint.startsWith(':')) {
    const why = `parse ${quote(endpoint)}: missing protocol scheme`;
    return [invalid(at, endpoint, `invalid endpoint for kms provider, error: ${why}`)];
  }
  const scheme = (/^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1] ?? '').toLowerCase();
  if (scheme === 'unix') return [];
  return [invalid(at, endpoint, `unsupported scheme ${quote(scheme)} for KMS provider, only unix is supported`)];
}
