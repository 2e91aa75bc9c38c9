import { createHash } from 'node:crypto';
import { JsonError } from '../../../../apimachinery/json/decode.js';
import { objectAt, objectsOf, textAt } from '../../../../apimachinery/json/json.js';
import { aggregate } from '../../../../apimachinery/meta/field-error.js';
import { compareUtf8, type KubeObject, quote } from '../../../../apimachinery/meta/meta.js';
import { trimSpace } from '../../../../util/text/trim-space.js';
import { STATIC_SUFFIX } from '../shared/strategy.js';
import { decodeManifest, ManifestError } from './decode-manifest.js';
import { MANIFEST_KINDS, type ManifestPlugin } from './manifest-kinds.js';

export interface ManifestFile {
  readonly path: string;
  readonly content: Buffer;
}

/** The configurations of one plugin from the files of a folder. */
export interface Manifests {
  /** The objects of each kind, sorted by name. */
  readonly objects: ReadonlyMap<string, readonly KubeObject[]>;
  /** Identifies the content of the files; empty if they are. */
  readonly hash: string;
}

const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? '';

/** Reads the configurations of a plugin from files, in their order. Throws ManifestError for the first that cannot be used. */
export function readManifests(plugin: ManifestPlugin, files: readonly ManifestFile[]): Manifests {
  const reader = new ManifestReader(plugin);
  const hash = createHash('sha256');
  const given = files.filter(({ content }) => content.length > 0);
  for (const file of given) {
    hash.update(file.content).update('\0');
    reader.read(file.path, file.content.toString('utf8'));
  }
  return { objects: reader.finish(), hash: given.length === 0 ? '' : `sha256:${hash.digest('hex')}` };
}

class ManifestReader {
  private readonly objects = new Map<string, KubeObject[]>();
  /** The file of each object, by kind and name. */
  private readonly seen = new Map<string, string>();

  constructor(private readonly plugin: ManifestPlugin) {}

  read(path: string, text: string): void {
    const kinds = MANIFEST_KINDS[this.plugin];
    let documents: string[];
    try {
      documents = documentsOf(text);
    } catch (error) {
      throw refused(`failed to split YAML documents in file ${quote(path)}`, error);
    }
    for (const document of documents) {
      try {
        decodeManifest(document, kinds, (kind, object) => this.add(kind, object, path));
      } catch (error) {
        throw refused(`error loading ${path}`, error);
      }
    }
  }

  private add(kind: string, object: KubeObject, path: string): void {
    const known = MANIFEST_KINDS[this.plugin].get(kind);
    known?.applyDefaults(object);
    const errors = known?.validate(object, undefined) ?? [];
    const name = nameOf(object);
    if (errors.length > 0) throw new ManifestError(`${kind} ${quote(name)}: ${aggregate(errors)}`);
    this.checkName(kind, name, path);
    checkManifest(kind, object, path);
    const others = this.objects.get(kind);
    if (others === undefined) this.objects.set(kind, [object]);
    else others.push(object);
  }

  private checkName(kind: string, name: string, path: string): void {
    if (!name.endsWith(STATIC_SUFFIX))
      throw new ManifestError(
        `${quote(name)} in file ${quote(path)} must have a name ending with ${quote(STATIC_SUFFIX)}`,
      );
    const key = `${kind} ${name}`;
    const before = this.seen.get(key);
    if (before !== undefined)
      throw new ManifestError(
        `duplicate name ${quote(name)} found in file ${quote(path)} (previously seen in ${quote(before)})`,
      );
    this.seen.set(key, path);
  }

  /** Returns the objects by kind, after checking that each binding has its policy. */
  finish(): ReadonlyMap<string, readonly KubeObject[]> {
    for (const binding of this.objects.get(`${this.plugin}Binding`) ?? []) {
      const policy = textAt(objectAt(binding, 'spec'), 'policyName');
      if (!this.seen.has(`${this.plugin} ${policy}`))
        throw new ManifestError(
          `binding ${quote(nameOf(binding))} references policy ${quote(policy)} which does not exist in the manifest directory`,
        );
    }
    for (const objects of this.objects.values()) objects.sort((a, b) => compareUtf8(nameOf(a), nameOf(b)));
    return this.objects;
  }
}

function refused(what: string, error: unknown): unknown {
  if (!(error instanceof JsonError || error instanceof ManifestError)) return error;
  return new ManifestError(`${what}: ${error.message}`);
}

/** Objects from files must not depend on objects of the API, which may be missing when the server starts. */
function checkManifest(kind: string, object: KubeObject, path: string): void {
  const name = quote(nameOf(object));
  const spec = objectAt(object, 'spec');
  if (kind.endsWith('Policy') && spec?.['paramKind'] !== undefined)
    throw new ManifestError(`${kind} ${name}: spec.paramKind is not supported for static manifests`);
  if (kind.endsWith('Binding')) {
    const policy = textAt(spec, 'policyName');
    if (!policy.endsWith(STATIC_SUFFIX))
      throw new ManifestError(
        `binding ${name}: spec.policyName ${quote(policy)} must end with ${quote(STATIC_SUFFIX)}`,
      );
    if (spec?.['paramRef'] !== undefined)
      throw new ManifestError(`binding ${name}: spec.paramRef is not supported for static manifests`);
  }
  for (const webhook of objectsOf(object['webhooks'])) {
    if (objectAt(webhook, 'clientConfig')?.['service'] === undefined) continue;
    throw new ManifestError(
      `webhook ${quote(textAt(webhook, 'name'))} in ${name} (file ${quote(path)}): clientConfig.service is not supported for static manifests; use clientConfig.url instead`,
    );
  }
}

const SEPARATOR = '---';

/** Splits a text at the lines that begin with `---`, as Kubernetes' reader does. Throws ManifestError. */
function documentsOf(text: string): string[] {
  const documents: string[] = [];
  let document = '';
  const end = (): void => {
    const trimmed = trimSpace(document);
    if (trimmed !== '') documents.push(trimmed);
    document = '';
  };
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith(SEPARATOR)) {
      const after = trimSpace(line.slice(SEPARATOR.length));
      if (after !== '' && !after.startsWith('#')) throw new ManifestError(`invalid Yaml document separator: ${after}`);
      if (document !== '') {
        end();
        continue;
      }
    }
    document += `${line}\n`;
  }
  end();
  return documents;
}
