/** The layers of DESIGN: calls go down, results come back. An import upward or a cycle fails `make lint`. */
const layers = {
  util: [],
  go: [],
  scheduling: [],
  re2: ['scheduling'],
  pki: [],
  apimachinery: ['go', 'scheduling', 're2'],
  cel: ['go', 'scheduling', 're2'],
  'structured-merge-diff': [],
  schema: ['cel'],
  client: ['pki'],
  authentication: ['cel', 'client', 'pki'],
  authorization: ['authentication', 'cel', 'client'],
  request: ['authentication'],
  storage: ['request'],
  managedfields: ['structured-merge-diff', 'schema'],
  admission: ['cel', 'request', 'authentication', 'authorization', 'pki'],
  registry: ['storage', 'schema', 'request', 'admission', 'authentication', 'authorization', 'managedfields', 'structured-merge-diff', 'cel', 'pki'],
  endpoints: ['registry', 'managedfields', 'admission', 'request', 'storage', 'schema', 'authentication', 'authorization', 'structured-merge-diff'],
  aggregation: ['client', 'authentication', 'authorization', 'admission', 'request', 'pki'],
  controllers: ['registry', 'client', 'storage', 'request', 'schema', 'authentication', 'authorization', 'pki'],
  offload: ['endpoints', 'registry', 'managedfields', 'admission', 'request', 'storage', 'schema', 'authentication', 'authorization', 'structured-merge-diff', 'cel', 'client'],
  cli: ['client', 'pki'],
  http2: [],
};
/** Rooms at the bottom import only what is named for them, and util; the others all of these. */
const bottom = new Set(['util', 'go', 'scheduling', 're2', 'pki', 'cel', 'apimachinery', 'http2']);
const always = ['apimachinery', 'util', 'go', 'scheduling', 're2'];
const allowed = (name, below) => [name, ...below, ...(bottom.has(name) ? ['util'] : always)];
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'backends-apart',
      severity: 'error',
      from: { path: '^src/storage/(embedded|mongodb|cacher)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/storage/(embedded|mongodb|cacher)/', pathNot: '^src/storage/$1/' },
    },
    {
      name: 'rest-is-contracts',
      comment: 'registry/rest says what a type is; it imports nothing that implements it',
      severity: 'error',
      from: { path: '^src/registry/rest/', pathNot: '\\.fake\\.ts$' },
      to: { path: '^src/registry/(?!rest/)' },
    },
    {
      name: 'only-commands-import-the-server',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(server/|main\\.ts|doctor/|cli/)' },
      to: { path: '^src/server/' },
    },
    ...Object.entries(layers).map(([name, below]) => ({
      name: `layer-${name}`,
      severity: 'error',
      from: { path: `^src/${name}/` },
      to: { path: `^src/(?!(?:${allowed(name, below).join('|')})/)` },
    })),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
