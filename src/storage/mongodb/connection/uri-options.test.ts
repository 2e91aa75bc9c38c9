import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { refusedUriOption, URI_OPTIONS } from './uri-options.js';

const URI = 'mongodb://annex:secret@a:1,b:2/';

test.each([
  'w=1',
  'w=0',
  'w=2',
  'W=1',
  'wtimeoutMS=1',
  'wtimeout=1',
  'journal=false',
  'j=false',
  'fsync=true',
  'readConcernLevel=local',
  'readconcernlevel=available',
  'readPreference=secondaryPreferred',
  'readPreferenceTags=dc:ny',
  'maxStalenessSeconds=120',
  'retryWrites=false',
  'retryReads=false',
  'loadBalanced=true',
  'timeoutMS=1000',
  'tlsInsecure=true',
  'tlsAllowInvalidCertificates=true',
  'tlsAllowInvalidHostnames=true',
  'socketTimeoutMS=1',
  'socketTimeoutMS=soon',
  'connectTimeoutMS=1',
  'serverSelectionTimeoutMS=0',
  'waitQueueTimeoutMS=1',
  'useBigInt64=true',
  'promoteLongs=false',
  'raw=true',
])('%s is refused by name', (option) => {
  const [name = ''] = option.split('=');
  const reason = refusedUriOption(`${URI}?replicaSet=rs0&${option}&appName=x`);
  expect(reason).toContain(`the MongoDB URI has `);
  expect(reason).toContain(name);
  expect(reason).not.toMatch(/secret|\n/);
});

test.each([
  '',
  '?',
  '?retryWrites=true&w=majority&appName=Cluster0',
  '?tls=true&authSource=admin&replicaSet=rs0&readPreference=primary&journal=true&readConcernLevel=majority',
  '?directConnection=true&compressors=zstd,snappy&maxPoolSize=50&socketTimeoutMS=0&wtimeoutMS=0',
])('%s is accepted', (query) => {
  expect(refusedUriOption(`${URI}${query}`)).toBeUndefined();
});

const driverOptions = (): string[] => {
  const load = createRequire(__filename);
  const { OPTIONS } = load('mongodb/lib/connection_string') as { readonly OPTIONS: object };
  return Object.keys(OPTIONS);
};

test('what the driver understands and the table does not name is refused', () => {
  const unnamed = driverOptions().filter((name) => !(name in URI_OPTIONS));
  expect(unnamed).toContain('useBigInt64');
  for (const name of unnamed) expect(refusedUriOption(`${URI}?${name}=true`)).toContain(name);
});

test('the table names no option that the driver does not understand', () => {
  expect(Object.keys(URI_OPTIONS).filter((name) => !driverOptions().includes(name))).toEqual([]);
});

test('docs/mongodb.md decides each option of the table', () => {
  const page = readFileSync(join(__dirname, '../../../../docs/mongodb.md'), 'utf8');
  const rows = page.slice(page.indexOf('## Options of the URI')).split('\n## ', 2)[0] ?? '';
  const named = [...rows.matchAll(/`([A-Za-z]+)(?:=[a-z0-9]+)?`/g)].map(([, name]) => name);
  expect(Object.keys(URI_OPTIONS).filter((name) => !named.includes(name))).toEqual([]);
});
