import { type JsonObject, objectAt, objectsOf, textAt, textOf } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';

const namesOf = (account: KubeObject, field: string): ReadonlySet<string> =>
  new Set(objectsOf(account[field]).map(({ name }) => textOf(name)));

/** Returns the reason why a pod may not use its secrets under an account that lists the allowed ones, or undefined if it may. */
export function unmountableSecret(account: KubeObject, spec: JsonObject): string | undefined {
  const secrets = namesOf(account, 'secrets');
  const by = account.metadata.name ?? '';
  const why = `is not allowed because service account ${by} does not reference that`;
  for (const volume of objectsOf(spec['volumes'])) {
    const source = objectAt(volume, 'secret');
    const name = textAt(source, 'secretName');
    if (source !== undefined && !secrets.has(name)) return `volume with secret.secretName="${name}" ${why} secret`;
  }
  for (const [list, called] of [
    ['initContainers', 'init container'],
    ['containers', 'container'],
  ] as const) {
    for (const container of objectsOf(spec[list])) {
      const reference = secretOfContainer(container, secrets);
      if (reference !== undefined) return `${called} ${textAt(container, 'name')} with ${reference} ${why} secret`;
    }
  }
  const pullSecrets = namesOf(account, 'imagePullSecrets');
  const named = objectsOf(spec['imagePullSecrets']).map(({ name }) => textOf(name));
  const at = named.findIndex((name) => !pullSecrets.has(name));
  return at < 0 ? undefined : `imagePullSecrets[${String(at)}].name="${named[at] ?? ''}" ${why} imagePullSecret`;
}

/** Returns the first reference of a container to a secret that is not allowed. */
function secretOfContainer(container: JsonObject, allowed: ReadonlySet<string>): string | undefined {
  for (const variable of objectsOf(container['env'])) {
    const source = objectAt(objectAt(variable, 'valueFrom'), 'secretKeyRef');
    const name = textAt(source, 'name');
    if (source !== undefined && !allowed.has(name)) {
      return `envVar ${textAt(variable, 'name')} referencing secret.secretName="${name}"`;
    }
  }
  for (const from of objectsOf(container['envFrom'])) {
    const source = objectAt(from, 'secretRef');
    const name = textAt(source, 'name');
    if (source !== undefined && !allowed.has(name)) return `envFrom referencing secret.secretName="${name}"`;
  }
  return undefined;
}
