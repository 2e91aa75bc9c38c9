import { createPrivateKey, X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { pemBlocks } from '../../pki/der.js';
import type { SigningAuthority } from '../../pki/sign-request.js';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import type { Logger } from '../../util/logger.js';
import {
  type DataDirectory,
  type KeyPem,
  newKey,
  parsePair,
  readFile,
  StartError,
} from '../certificates/data-directory.js';
import { KEY_NAMES, type KeyName } from '../certificates/keys/rules.js';
import { type Keys, type SharedKey, SharedKeys } from '../certificates/keys/shared-keys.js';
import type { Options } from '../options/options.js';
import { readSigningKeyFile } from './access/service-account-tokens.js';
import type { Foundation } from './plane.js';
import type { ServerContext } from './server-context.js';
import { waitForStore } from './startup/startup.js';

const FOLLOW_MILLIS = 60_000;

type KeyFiles = Partial<Record<KeyName, KeyPem>>;

/** Reads the keys that flags name. Throws StartError if they cannot be used. */
export function readKeyFiles(options: Options): KeyFiles {
  const { tlsCertFile, clusterSigningCertFile, clusterSigningKeyFile, serviceAccountSigningKeyFile } = options;
  const files: KeyFiles = {};
  // Who gives a serving certificate keeps the key of its CA.
  if (tlsCertFile !== '') files['serving-ca'] = { cert: rootCaInFiles(options), key: '' };
  if (clusterSigningCertFile !== '') {
    const cert = readFile(clusterSigningCertFile, '--cluster-signing-cert-file');
    const key = readFile(clusterSigningKeyFile, '--cluster-signing-key-file');
    const parsed = parsePair(cert, key, clusterSigningCertFile, clusterSigningKeyFile);
    if (!parsed.certificate.ca)
      throw new StartError(`--cluster-signing-cert-file: ${clusterSigningCertFile} is not a CA`);
    const { asymmetricKeyType: type } = parsed.key;
    if (type !== 'rsa' && type !== 'ec')
      throw new StartError(`--cluster-signing-key-file: ${clusterSigningKeyFile} must be an RSA or ECDSA key`);
    files['client-ca'] = { cert, key };
  }
  if (serviceAccountSigningKeyFile !== '')
    files['service-account'] = { cert: '', key: readSigningKeyFile(serviceAccountSigningKeyFile) };
  return files;
}

/** Returns the CAs that verify --tls-cert-file: those of --root-ca-file, else those behind it in its file, else the certificate itself. */
function rootCaInFiles({ tlsCertFile, rootCaFile }: Options): string {
  const flag = rootCaFile === '' ? '--tls-cert-file' : '--root-ca-file';
  const path = rootCaFile === '' ? tlsCertFile : rootCaFile;
  const text = readFile(path, flag);
  let blocks: string[];
  try {
    blocks = pemBlocks(text, 'CERTIFICATE').map((der) => new X509Certificate(der).toString());
  } catch (error) {
    throw new StartError(`${flag}: ${path} cannot be used: ${messageOf(error)}`);
  }
  if (blocks.length === 0) throw new StartError(`${flag}: ${path} contains no certificate`);
  return (rootCaFile === '' && blocks.length > 1 ? blocks.slice(1) : blocks).join('');
}

/** The keys of a server, once its store is open. */
interface OpenKeys {
  readonly keys: Keys;
  /** Calls `changed` when another server has replaced a key in the store. */
  readonly follow: (signal: AbortSignal, changed: (keys: Keys) => void) => Promise<void>;
}

/** Opens the keys that all servers on a MongoDB database share. Throws StartError if this server must not start. */
export async function openSharedKeys(
  context: ServerContext,
  { backend, encryption }: Pick<Foundation, 'backend' | 'encryption'>,
  given: { readonly directory: DataDirectory; readonly files: KeyFiles },
): Promise<OpenKeys> {
  const { clock, logger } = context;
  const shared = new SharedKeys({
    ...given,
    backend,
    clock,
    host: hostname(),
    transformer: () => encryption?.ofSecrets(),
    make: (name) => newKey(name, clock.now()),
  });
  const keys = await waitForStore(() => shared.open(), context);
  for (const name of shared.ignored)
    logger.warn('other servers may not accept what this one issues: they have another key, in the database', {
      key: name,
    });
  return { keys, follow: (signal, changed) => follow(shared, keys, { clock, logger, signal, changed }) };
}

async function follow(
  shared: SharedKeys,
  first: Keys,
  {
    clock,
    logger,
    signal,
    changed,
  }: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly signal: AbortSignal;
    readonly changed: (keys: Keys) => void;
  },
): Promise<void> {
  if (!Object.values(first).some(({ home }) => home === 'store')) return;
  let before = first;
  for (let problem = ''; ;) {
    await sleep(clock, FOLLOW_MILLIS, signal);
    if (signal.aborted) return;
    try {
      const keys = await shared.open();
      problem = '';
      if (KEY_NAMES.some((name) => keys[name].key !== before[name].key)) changed(keys);
      before = keys;
    } catch (error) {
      const message = messageOf(error);
      if (message !== problem)
        logger.warn('cannot read the keys in the store; keeping those in use', { error: message });
      problem = message;
    }
  }
}

/** Returns the authority that issues client certificates. */
export const signingAuthority = ({ key, cert }: SharedKey): SigningAuthority => ({
  key: createPrivateKey(key),
  certificate: new X509Certificate(cert),
});

/** Returns a CA's certificate and those that it replaces. */
export const trusted = ({ cert, former }: SharedKey): string => [cert, ...former].join('');
