import { AuditPolicy } from '../endpoints/audit/policy.js';
import { readFile } from '../server/certificates/data-directory.js';
import { FLAGS, type Options } from '../server/options/options.js';
import { loadEncryptionConfiguration } from '../storage/encryption/load.js';
import { messageOf } from '../util/error-message.js';
import { type Finding, ok, failed } from './finding.js';

const CHECK = 'configuration files';
/** Flags whose value is the path of one file. */
const FILE_FLAGS = Object.entries(FLAGS).filter(
  ([, { name, default: value }]) =>
    value === '' && /(-file|^(authentication|authorization|encryption-provider)-config)$/.test(name),
);

/** Checks whether the files that flags name can be read, and whether those of encryption and audit are valid. */
export function checkFiles(options: Options): Finding {
  const values: Readonly<Record<string, unknown>> = { ...options };
  const found: string[] = [];
  let flag = '';
  try {
    for (const [key, { name }] of FILE_FLAGS) {
      const path = values[key];
      if (typeof path !== 'string' || path === '') continue;
      flag = `--${name}`;
      check(key, path, flag, options);
      found.push(flag);
    }
  } catch (error) {
    const text = messageOf(error);
    return failed(CHECK, text.startsWith(flag) ? text : `${flag}: ${text}`, `correct the file or the flag ${flag}`);
  }
  return ok(CHECK, found.length === 0 ? 'none is set' : found.join(', '));
}

function check(key: string, path: string, flag: string, options: Options): void {
  const content = readFile(path, flag);
  if (key === 'auditPolicyFile') AuditPolicy.parse(content);
  if (key === 'encryptionProviderConfig')
    loadEncryptionConfiguration(path, { reload: options.encryptionProviderConfigAutomaticReload });
}
