import { dirname } from 'node:path';
import { type JsonObject, objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import { type Credentials, loadUser, named, parseKubeconfig, type ReadFile } from './kubeconfig.js';

const HTTPS = ':443';

/**
 * Loads the user for each webhook from the kubeconfig of an admission plugin. Its users are named after the host and port that they are for
 * (`webhook.example.com:8443`, `*.svc`, `*`); if none matches, the user of the current context is used.
 */
export async function loadWebhookUsers(
  path: string,
  readFile: ReadFile,
): Promise<(target: string) => Credentials | undefined> {
  const config = parseKubeconfig(await readFile(path));
  const directory = dirname(path);
  const users = new Map<string, Credentials>();
  for (const entry of objectsOf(config['users'])) {
    const user = objectAt(entry, 'user') ?? {};
    users.set(stringAt(entry, 'name') ?? '', await loadUser(user, directory, readFile));
  }
  const fallback = currentUser(config);
  return (target) => {
    for (const name of namesFor(target)) {
      const user = users.get(name);
      if (user !== undefined) return user;
    }
    return users.get('*') ?? (fallback === '' ? undefined : users.get(fallback));
  };
}

/** Returns the names that the user for a target may have, the most specific first. */
function namesFor(target: string): readonly string[] {
  const exact = [target, ...wildcards(target)];
  if (!target.endsWith(HTTPS)) return exact;
  const host = target.slice(0, -HTTPS.length);
  return [...exact, host, ...wildcards(host)];
}

function wildcards(target: string): readonly string[] {
  const steps = target.split('.');
  return steps.slice(1).map((_, i) => `*.${steps.slice(i + 1).join('.')}`);
}

function currentUser(config: JsonObject): string {
  const context = named(config['contexts'], stringAt(config, 'current-context') ?? '', 'context');
  return stringAt(context, 'user') ?? '';
}
