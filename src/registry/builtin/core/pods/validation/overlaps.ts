import { type JsonObject, objectAt, objectsOf, textAt, textOf } from '../../../../../apimachinery/json/json.js';
import { quote } from '../../../../../apimachinery/meta/meta.js';
import { trimRight } from '../../../../../util/text/trim.js';

/** A file in a volume, with its source if the volume has several. */
interface File {
  readonly path: string;
  readonly source: string;
}

const show = ({ path, source }: File): string => (source === '' ? quote(path) : `${quote(path)} (${source})`);

const overlap = (a: string, b: string): boolean => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);

const filesOf = (holder: JsonObject | undefined, source: string): File[] =>
  objectsOf(holder?.['items']).map(({ path }) => ({ path: textOf(path), source }));

/** Each file is compared with those before it, up to this number: responses have room for some twenty warnings. */
const MAX_FILES = 256;

function overlaps(files: readonly File[]): string[] {
  const before: File[] = [];
  return files.slice(0, MAX_FILES).flatMap((given) => {
    const file = { ...given, path: trimRight(given.path, '/') };
    const hits = file.path === '' ? [] : before.filter(({ path }) => path !== '' && overlap(path, file.path));
    before.push(file);
    return hits.map((hit) => `${show(file)} with ${show(hit)}`);
  });
}

const nameOf = (kind: string, holder: JsonObject | undefined, field = 'name'): string =>
  `${kind} ${quote(textAt(holder, field))}`;

/** Returns the files of a projected source, of the first kind that has any. */
function projectedFiles(source: JsonObject): File[] {
  for (const [field, kind] of [
    ['configMap', 'ConfigMap'],
    ['secret', 'Secret'],
  ] as const) {
    const holder = objectAt(source, field);
    if (holder?.['items'] !== undefined) return filesOf(holder, nameOf(kind, holder));
  }
  const downward = objectAt(source, 'downwardAPI');
  if (downward?.['items'] !== undefined) return filesOf(downward, 'DownwardAPI');
  const token = objectAt(source, 'serviceAccountToken');
  return token === undefined ? [] : [{ path: textAt(token, 'path'), source: 'ServiceAccountToken' }];
}

const KINDS = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken'];

/** Returns warnings about files in a volume whose paths overlap. */
export function overlapWarnings(volumes: readonly JsonObject[]): string[] {
  return volumes.flatMap((volume) => {
    const name = quote(textAt(volume, 'name'));
    const warn =
      (what: string) =>
      (text: string): string =>
        `volume ${name} (${what}): overlapping paths: ${text}`;
    const map = objectAt(volume, 'configMap');
    const secret = objectAt(volume, 'secret');
    const sources = objectsOf(objectAt(volume, 'projected')?.['sources']);
    const empty = sources.filter((source) => !KINDS.some((kind) => objectAt(source, kind) !== undefined));
    return [
      ...overlaps(filesOf(map, '')).map(warn(nameOf('ConfigMap', map))),
      ...overlaps(filesOf(secret, '')).map(warn(nameOf('Secret', secret, 'secretName'))),
      ...overlaps(filesOf(objectAt(volume, 'downwardAPI'), '')).map(warn('DownwardAPI')),
      ...empty.map(() => `volume ${name} (Projected) has no sources provided`),
      ...overlaps(sources.flatMap(projectedFiles)).map(warn('Projected')),
    ];
  });
}
