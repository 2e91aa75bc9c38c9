const { entangledRooms, importsOf } = require('./hack/rooms.cjs');

/** What each folder of src may import besides the lowest ones. `make lint` fails on an upward import and on a cycle. */
const layers = {
  util: [],
  go: [],
  scheduling: [],
  pki: [],
  apimachinery: ['go', 'scheduling'],
  'structured-merge-diff': [],
  expressions: [],
  schema: ['expressions'],
  client: ['pki'],
  authentication: ['expressions', 'client', 'pki'],
  authorization: ['expressions', 'authentication', 'client'],
  request: ['authentication'],
  storage: ['request'],
  managedfields: ['structured-merge-diff', 'schema'],
  quota: [],
  admission: [
    'expressions',
    'quota',
    'request',
    'authentication',
    'authorization',
    'structured-merge-diff',
    'client',
    'pki',
  ],
  registry: [
    'expressions',
    'storage',
    'schema',
    'request',
    'admission',
    'authentication',
    'authorization',
    'managedfields',
    'structured-merge-diff',
    'pki',
  ],
  endpoints: [
    'expressions',
    'registry',
    'managedfields',
    'admission',
    'request',
    'storage',
    'schema',
    'authentication',
    'authorization',
    'structured-merge-diff',
  ],
  aggregation: ['quota', 'client', 'authentication', 'authorization', 'admission', 'request', 'pki'],
  controllers: [
    'quota',
    'registry',
    'client',
    'storage',
    'request',
    'schema',
    'authentication',
    'authorization',
    'pki',
  ],
  offload: [
    'endpoints',
    'registry',
    'managedfields',
    'admission',
    'request',
    'storage',
    'schema',
    'authentication',
    'authorization',
    'structured-merge-diff',
    'client',
  ],
  cli: ['client', 'pki', 'schema'],
};
/** The lowest folders import only util and what is listed for them; all others may import `always`. */
const bottom = new Set(['util', 'go', 'scheduling', 're2', 'pki', 'apimachinery', 'http2']);
const always = ['apimachinery', 'util', 'go', 'scheduling'];
const allowed = (name, below) => [name, ...below, ...(bottom.has(name) ? ['util'] : always)];
/** The folders within the stores, and which of their siblings each may import. */
const followsLog = ['connection', 'log', 'following'];
const rooms = {
  'storage/mongodb': {
    connection: [],
    log: [],
    following: ['connection', 'log'],
    projection: followsLog,
    reading: followsLog,
    commit: [...followsLog, 'projection', 'reading'],
    retention: [...followsLog, 'projection'],
    cold: [],
  },
  'storage/cacher': { tree: [], load: ['tree'], watch: ['tree'] },
};
/** Rooms that import each other: the imports of the side that has fewer are errors. Adoption's rooms are being untied. */
const entangled = entangledRooms(importsOf('src', 'packages')).filter(
  ({ from }) => !from.startsWith('src/controllers/adoption/'),
);
module.exports = {
  forbidden: [
    ...entangled.map(({ from, to }) => ({
      name: 'rooms-apart',
      comment: 'no two folders import each other',
      severity: 'error',
      from: { path: `^${from}/`, pathNot: '\\.test\\.ts$' },
      to: { path: `^${to}/` },
    })),
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'backends-apart',
      severity: 'error',
      from: { path: '^src/storage/(embedded|mongodb|cacher)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/storage/(embedded|mongodb|cacher)/', pathNot: '^src/storage/$1/' },
    },
    {
      name: 'only-tests-import-tests',
      severity: 'error',
      from: { path: '^(src|packages/[^/]+/src)/', pathNot: '\\.test\\.ts$' },
      to: { path: '(^|/)test/|\\.test\\.ts$' },
    },
    {
      name: 'packages-stand-alone',
      comment: 'a package imports nothing of Annex and nothing of another package',
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^(src|test|packages)/', pathNot: '^packages/$1/' },
    },
    {
      name: 'http2-is-for-the-server',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/server/' },
      to: { path: '^packages/http2/' },
    },
    {
      name: 'rest-is-contracts',
      comment: 'registry/rest says what a type is; it imports nothing that implements it',
      severity: 'error',
      from: { path: '^src/registry/rest/' },
      to: { path: '^src/registry/(?!rest/)' },
    },
    {
      name: 'handlers-depend-on-contracts',
      comment: 'a handler knows the verbs of a kind (registry/rest), not what implements them',
      severity: 'error',
      from: { path: '^src/endpoints/handlers/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/registry/(?!rest/)' },
    },
    {
      name: 'handlers-below-the-router',
      severity: 'error',
      from: { path: '^src/endpoints/handlers/' },
      to: { path: '^src/endpoints/router/' },
    },
    {
      name: 'generic-below-the-types',
      comment: 'the generic store knows no type',
      severity: 'error',
      from: { path: '^src/registry/generic/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/registry/(?!generic/|rest/)' },
    },
    {
      name: 'loopback-is-a-client',
      comment: 'the clients of the server itself are on top of the generic store, like handlers',
      severity: 'error',
      from: { path: '^src/registry/generic/(?!loopback/)' },
      to: { path: '^src/registry/generic/loopback/' },
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
    ...Object.entries(rooms).flatMap(([storey, neighbours]) =>
      Object.entries(neighbours).map(([name, below]) => ({
        name: `room-${storey}-${name}`,
        severity: 'error',
        from: { path: `^src/${storey}/${name}/`, pathNot: '\\.test\\.ts$' },
        to: { path: `^src/${storey}/(?!(?:${[name, ...below].join('|')})/)[^/]+/` },
      })),
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
