import { quote } from '../../../../../apimachinery/meta/meta.js';
import type * as core from '../../../../../apimachinery/generated/core.js';
import { trimRight } from '../../../../../util/text/trim.js';

/** A file in a volume, with its source if the volume has several. */
interface File {
  readonly path: string;
  readonly source: string;
}

const show = ({ path, source }: File): string => (source === '' ? quote(path) : `${quote(path)} (${source})`);

const overlap = (a: string, b: string): boolean => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);

const filesOf = (
  holder: { readonly items?: readonly (core.KeyToPath | core.DownwardAPIVolumeFile)[] } | undefined,
  source: string,
): File[] => (holder?.items ?? []).map(({ path = '' }) => ({ path, source }));

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

const named = (kind: string, name = ''): string => `${kind} ${quote(name)}`;

/** Returns the files of a projected source, of the first kind that has any. */
function projectedFiles(source: core.VolumeProjection): File[] {
  for (const [field, kind] of [
    ['configMap', 'ConfigMap'],
    ['secret', 'Secret'],
  ] as const) {
    const holder = source[field];
    if (holder?.items !== undefined) return filesOf(holder, named(kind, holder.name));
  }
  const downward = source.downwardAPI;
  if (downward?.items !== undefined) return filesOf(downward, 'DownwardAPI');
  const token = source.serviceAccountToken;
  return token === undefined ? [] : [{ path: token.path ?? '', source: 'ServiceAccountToken' }];
}

const KINDS = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken'] as const;

/** Returns warnings about files in a volume whose paths overlap. */
export function overlapWarnings(volumes: readonly core.Volume[]): string[] {
  return volumes.flatMap((volume) => {
    const name = quote(volume.name ?? '');
    const warn =
      (what: string) =>
      (text: string): string =>
        `volume ${name} (${what}): overlapping paths: ${text}`;
    const map = volume.configMap;
    const secret = volume.secret;
    const sources = volume.projected?.sources ?? [];
    const empty = sources.filter((source) => !KINDS.some((kind) => source[kind] !== undefined));
    return [
      ...overlaps(filesOf(map, '')).map(warn(named('ConfigMap', map?.name))),
      ...overlaps(filesOf(secret, '')).map(warn(named('Secret', secret?.secretName))),
      ...overlaps(filesOf(volume.downwardAPI, '')).map(warn('DownwardAPI')),
      ...empty.map(() => `volume ${name} (Projected) has no sources provided`),
      ...overlaps(sources.flatMap(projectedFiles)).map(warn('Projected')),
    ];
  });
}
