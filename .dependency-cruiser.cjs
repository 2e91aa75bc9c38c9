/** The layers of DESIGN: calls go down, results come back. An import upward or a cycle fails `make lint`. */
const layers = {
  util: [],
  apimachinery: [],
  cel: [],
  'structured-merge-diff': [],
  schema: ['cel'],
  client: [],
  'authentication': ['cel', 'client'],
  'authorization': ['authentication', 'cel', 'client'],
  request: ['authentication'],
  storage: ['request'],
  managedfields: ['structured-merge-diff', 'schema'],
  quota: [],
  admission: ['cel', 'quota', 'request', 'authentication', 'authorization', 'structured-merge-diff', 'client'],
  registry: ['storage', 'schema', 'request', 'admission', 'authentication', 'authorization', 'managedfields', 'structured-merge-diff', 'cel'],
  endpoints: ['registry', 'managedfields', 'admission', 'request', 'storage', 'schema', 'authentication', 'authorization', 'structured-merge-diff'],
  aggregation: ['quota', 'client', 'authentication', 'authorization', 'admission', 'request'],
  controllers: ['quota', 'registry', 'client', 'storage', 'request', 'schema', 'authentication', 'authorization'],
  cli: ['client'],
  http2: [],
};
const always = ['apimachinery', 'util'];
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'util-imports-nothing', severity: 'error', from: { path: '^src/util/' }, to: { path: '^src/(?!util/)' } },
    { name: 'cel-stands-alone', severity: 'error', from: { path: '^src/cel/' }, to: { path: '^src/(?!cel/|util/)' } },
    {
      name: 'backends-apart',
      severity: 'error',
      from: { path: '^src/storage/(embedded|mongodb|cacher)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/storage/(embedded|mongodb|cacher)/', pathNot: '^src/storage/$1/' },
    },
    ...Object.entries(layers).map(([name, below]) => ({
      name: `layer-${name}`,
      severity: 'error',
      from: { path: `^src/${name}/` },
      to: { path: `^src/(?!(?:${[name, ...below, ...always].join('|')})/)` },
    })),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
