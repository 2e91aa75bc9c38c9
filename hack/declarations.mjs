// Writes the TypeScript declarations of the kinds that Annex knows, from data/types/types.json and the names of data/openapi
// (part of `make data`, needs neither Go nor a server):
//   node hack/declarations.mjs [FOLDER]    writes a file for each API group into FOLDER (src/apimachinery/generated/)
// A field may be absent as the encoder of kube-apiserver omits it, and is null where that encoder writes null.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const out = resolve(process.argv[2] ?? join(root, 'src/apimachinery/generated'));
const read = (...path) => JSON.parse(readFileSync(join(root, 'data', ...path), 'utf8'));
const { types, kinds } = read('types/types.json');

/** The documents of the groups that Annex serves in v1, and the kinds in them that it does not serve. */
const SERVED = /^(?!apis__(?:storage|apiregistration|kubeannex)).*__v1\.json$/;
const UNSERVED = new Set(
  `Binding ComponentStatus LimitRange PodTemplate ReplicationController APIGroup APIResourceList DeleteOptions Eviction Scale Status
   ConversionReview WatchEvent`.split(/\s+/),
);
/** Types that are written by hand (apimachinery/meta/meta.ts). */
const BY_HAND = {
  ObjectMeta: 'ObjectMeta',
  OwnerReference: 'OwnerReference',
  ManagedFieldsEntry: 'ManagedFieldsEntry',
};
const CUSTOM = {
  'v1.Time': 'string',
  'v1.MicroTime': 'string',
  'resource.Quantity': 'string',
  'intstr.IntOrString': 'number | string',
  'v1.JSONSchemaPropsOrArray': 'JSONSchemaProps | JSONSchemaProps[]',
  'v1.JSONSchemaPropsOrBool': 'JSONSchemaProps | boolean',
  'v1.JSONSchemaPropsOrStringArray': 'JSONSchemaProps | string[]',
};
/** Custom types whose zero value is not written as null. */
const NEVER_NULL = new Set(['resource.Quantity', 'intstr.IntOrString', 'v1.JSONSchemaPropsOrBool']);
const PLAIN = {
  string: 'string',
  bytes: 'string',
  bool: 'boolean',
  int32: 'number',
  float64: 'number',
  int64: 'number | bigint',
};

/** The declarations of each group by name, and the names that they need of other groups. */
const groups = new Map();
const declared = new Set();

for (const file of readdirSync(join(root, 'data/openapi')).filter((name) => SERVED.test(name))) {
  // The same types are in several documents, under the name of their package.
  const schemas = read('openapi', file);
  const homes = new Map(Object.keys(schemas).map((name) => [name.split('.').at(-1), name.split('.').at(-3)]));
  for (const [name, schema] of Object.entries(schemas)) {
    const own = schema['x-kubernetes-group-version-kind']?.map(({ group, version, kind }) =>
      UNSERVED.has(kind) || kind.endsWith('List') ? undefined : kinds[`${group && `${group}/`}${version}/${kind}`],
    );
    const index = own?.find((known) => known !== undefined);
    if (index === undefined) continue;
    declare(index, homes, name.split('.').at(-3));
  }
}
mkdirSync(out, { recursive: true });
for (const [group, { needs, texts }] of groups) {
  writeFileSync(
    join(out, `${group}.d.ts`),
    `${header(needs)}\n${[...texts]
      .sort()
      .map(([, text]) => text)
      .join('\n')}`,
  );
}

/** Declares a struct and what it refers to. */
function declare(index, homes, group) {
  const { n: name, f: fields = [] } = types[index];
  if (declared.has(index)) return;
  declared.add(index);
  if (!groups.has(group)) groups.set(group, { needs: new Map(), texts: new Map() });
  const { needs, texts } = groups.get(group);
  const need = (file, what) => needs.set(file, (needs.get(file) ?? new Set()).add(what));
  const isKind = fields.some((field) => field.n === 'metadata') && fields.some((field) => field.n === 'kind');
  const base = isKind ? 'KubeObject' : 'JsonObject';
  need(isKind ? '../meta/meta.js' : '../json/json.js', base);
  const lines = fields
    .filter((field) => !isKind || !['kind', 'apiVersion', 'metadata'].includes(field.n))
    .map((field) => {
      const text = textOf(field.t);
      const key = /^[A-Za-z$]\w*$/.test(field.n) ? field.n : `'${field.n}'`;
      return `  ${key}?: ${isNull(field) ? `${text} | null` : text};`;
    });
  texts.set(
    name,
    `export interface ${name} extends ${base} {${lines.map((line) => `\n${line}`).join('')}${lines.length > 0 ? '\n' : ''}}\n`,
  );

  function textOf(at) {
    const type = types[at];
    if (type.k === 'ptr') return textOf(type.e);
    if (type.k === 'slice') return arrayOf(textOf(type.e));
    if (type.k === 'map') return `Record<string, ${textOf(type.e)}${isNull({ t: type.e }) ? ' | null' : ''}>`;
    if (type.k === 'custom' && CUSTOM[type.s] === undefined) need('../json/json.js', 'JsonValue');
    if (type.k === 'custom') return CUSTOM[type.s] ?? 'JsonValue';
    if (type.k !== 'struct') return PLAIN[type.k];
    if (BY_HAND[type.n] !== undefined) {
      need('../meta/meta.js', type.n);
      return type.n;
    }
    const home = homes.get(type.n) ?? group;
    declare(at, homes, home);
    if (home !== group) need(`./${home}.js`, type.n);
    return type.n;
  }
}

function arrayOf(text) {
  return /[ |]/.test(text) ? `(${text})[]` : `${text}[]`;
}

/** Reports whether the encoder writes null for the zero value. */
function isNull({ t, o, z }) {
  const { k, s } = types[t];
  if (z === true) return false;
  return k === 'custom' ? !NEVER_NULL.has(s) : o !== true && ['ptr', 'slice', 'map'].includes(k);
}

function header(needs) {
  const imports = [...needs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([file, names]) => `import type { ${[...names].sort().join(', ')} } from '${file}';\n`);
  return `// Made by hack/declarations.mjs from data/ (make data). Not to be edited.\n${imports.join('')}`;
}
