import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pem, pemBlocks } from '../../pki/der.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The paths where distributions keep the CAs that a host trusts; the first existing file is used, and all folders. */
const FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
const FOLDERS = ['/etc/ssl/certs', '/etc/pki/tls/certs'];

/**
 * Returns the CAs that the host trusts, as Go programs find them: SSL_CERT_FILE and SSL_CERT_DIR (several separated by colons) replace the
 * default paths. Unreadable files are ignored; without any CA, no server is trusted.
 */
export function readHostRoots(environment: Environment): string[] {
  const { SSL_CERT_FILE: file = '', SSL_CERT_DIR: folders = '' } = environment;
  const found = new Map<string, string>();
  const add = (path: string): boolean => {
    try {
      for (const raw of pemBlocks(readFileSync(path, 'utf8'), 'CERTIFICATE')) {
        found.set(raw.toString('base64'), pem('CERTIFICATE', raw));
      }
      return true;
    } catch {
      return false;
    }
  };
  (file === '' ? FILES : [file]).some(add);
  for (const folder of folders === '' ? FOLDERS : folders.split(':')) for (const path of filesIn(folder)) add(path);
  return [...found.values()];
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}
