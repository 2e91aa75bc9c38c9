// Makes the data that comes from one version of Kubernetes (`make data`): types and protobuf numbers from its Go modules, and schemas,
// default roles and columns from a kube-apiserver of that version, which is started on loopback.
//   node hack/data.mjs [FOLDER]         writes them into FOLDER (data/)
//   node hack/data.mjs FOLDER --offline only what needs no server
// Needs Go 1.26 for the modules of hack/tools; ANNEX_TOOLS_DIR names the folder of the built commands. The version is that of
// hack/tools/go.mod. Prints the names of the files.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import protobuf from 'protobufjs';

const root = resolve(import.meta.dirname, '..');
const tools = join(root, 'hack/tools');
const offline = process.argv.includes('--offline');
const out = resolve(process.argv.slice(2).find((arg) => !arg.startsWith('-')) ?? join(root, 'data'));

/** The groups and versions whose schemas Annex serves. */
const SCHEMAS = [
  'api/v1',
  'apis/admissionregistration.k8s.io/v1',
  'apis/admissionregistration.k8s.io/v1alpha1',
  'apis/admissionregistration.k8s.io/v1beta1',
  'apis/apiextensions.k8s.io/v1',
  'apis/apiregistration.k8s.io/v1',
  'apis/authentication.k8s.io/v1',
  'apis/authorization.k8s.io/v1',
  'apis/certificates.k8s.io/v1',
  'apis/coordination.k8s.io/v1',
  'apis/events.k8s.io/v1',
  'apis/rbac.authorization.k8s.io/v1',
  'apis/storage.k8s.io/v1',
];

/** The kinds of these versions that Annex does not serve, and the types that only they have. */
const UNSERVED = /^io\.k8s\.api\.certificates\.v1\.(?:ClusterTrustBundle|PodCertificateRequest)/;

/** The packages whose messages are encoded as Protobuf. */
const PACKAGES = [
  'core/v1',
  'rbac/v1',
  'authentication/v1',
  'authorization/v1',
  'coordination/v1',
  'certificates/v1',
  'events/v1',
  'storage/v1',
  'admissionregistration/v1',
  'admissionregistration/v1beta1',
  'admissionregistration/v1alpha1',
  'apidiscovery/v2',
].map((name) => `k8s.io/api/${name}`);
PACKAGES.push('k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1');

/** The lists whose columns Annex shows as kube-apiserver does. */
const TABLES = [
  'api/v1/pods',
  'api/v1/nodes',
  'api/v1/services',
  'api/v1/endpoints',
  'api/v1/events',
  'api/v1/namespaces',
  'api/v1/secrets',
  'api/v1/configmaps',
  'api/v1/serviceaccounts',
  'api/v1/persistentvolumes',
  'api/v1/persistentvolumeclaims',
  'apis/events.k8s.io/v1/events',
  'apis/coordination.k8s.io/v1/leases',
  'apis/certificates.k8s.io/v1/certificatesigningrequests',
  'apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  'apis/rbac.authorization.k8s.io/v1/roles',
  'apis/rbac.authorization.k8s.io/v1/clusterroles',
  'apis/rbac.authorization.k8s.io/v1/rolebindings',
  'apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  'apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  'apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  'apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  'apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  'apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies',
  'apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings',
  'apis/apiregistration.k8s.io/v1/apiservices',
  'apis/storage.k8s.io/v1/storageclasses',
  'api/v1/resourcequotas',
];

mkdirSync(join(out, 'openapi'), { recursive: true });
mkdirSync(join(out, 'types'), { recursive: true });
ofModules();
if (!offline) await ofServer();

function write(name, text) {
  writeFileSync(join(out, name), text);
  console.log(name);
}

function go(...args) {
  return execFileSync('go', args, {
    cwd: tools,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, CGO_ENABLED: '0' },
  });
}

function ofModules() {
  write('types/types.json', go('run', './gotypes'));
  write('types/internal.json', go('run', './internaltypes'));
  write('gates.json', go('run', './gates'));
  write('protobuf.json', `${JSON.stringify(descriptors())}\n`);
}

/** The field numbers of the messages, from the `generated.proto` of the Go modules. */
function descriptors() {
  const folders = new Map();
  const folderOf = (module) => {
    if (!folders.has(module)) folders.set(module, go('list', '-m', '-f', '{{.Dir}}', module).trim());
    return folders.get(module);
  };
  const messages = new protobuf.Root();
  messages.resolvePath = (_origin, target) => {
    if (!target.startsWith('k8s.io/')) return target;
    const [host, module, ...rest] = target.split('/');
    return join(folderOf(`${host}/${module}`), ...rest);
  };
  messages.loadSync(PACKAGES.map((name) => `${name}/generated.proto`));
  return withoutComments(messages.toJSON({ keepComments: false }));
}

function withoutComments(value) {
  if (Array.isArray(value)) return value.map(withoutComments);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => key !== 'comment' || typeof member !== 'string')
      .map(([key, member]) => [key, withoutComments(member)]),
  );
}

async function ofServer() {
  const folder = execFileSync(join(tools, 'build.sh'), ['kube-apiserver', 'etcd'], { encoding: 'utf8' }).trim();
  const scratch = mkdtempSync(join(tmpdir(), 'annex-data-'));
  const processes = [];
  const start = (name, args) => processes.push(spawn(join(folder, name), args, { cwd: scratch, stdio: 'ignore' }));
  try {
    const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
    const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` };
    execFileSync('openssl', ['genrsa', '-out', 'sa.key', '2048'], { cwd: scratch, stdio: 'ignore' });
    writeFileSync(join(scratch, 'tokens.csv'), 'data,admin,admin,system:masters\n');
    start('etcd', [
      '--data-dir=etcd',
      `--listen-client-urls=${urls.client}`,
      `--advertise-client-urls=${urls.client}`,
      `--listen-peer-urls=${urls.peer}`,
      `--initial-advertise-peer-urls=${urls.peer}`,
      `--initial-cluster=default=${urls.peer}`,
    ]);
    start('kube-apiserver', [
      `--etcd-servers=${urls.client}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--cert-dir=certs',
      '--token-auth-file=tokens.csv',
      '--authorization-mode=RBAC',
      '--service-account-key-file=sa.key',
      '--service-account-signing-key-file=sa.key',
      '--service-account-issuer=https://kubernetes.default.svc',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--runtime-config=admissionregistration.k8s.io/v1alpha1=true,admissionregistration.k8s.io/v1beta1=true',
    ]);
    const get = (path, accept = 'application/json') => fetchJson(port, path, accept);
    const put = (path, body) => fetchJson(port, path, 'application/json', JSON.stringify(body));
    await ready(get);
    for (const version of SCHEMAS) {
      const { components } = await get(`/openapi/v3/${version}`);
      const schemas = Object.entries(components.schemas).filter(([name]) => !UNSERVED.test(name));
      write(
        `openapi/${version.replaceAll('/', '__')}.json`,
        `${JSON.stringify(withoutProse(Object.fromEntries(schemas)))}\n`,
      );
    }
    write('rbac-defaults.json', `${JSON.stringify(await defaultRoles(get), null, 1)}\n`);
    const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    const columns = {};
    for (const list of TABLES) columns[list] = (await get(`/${list}`, table)).columnDefinitions;
    columns['apis/autoscaling/v1/scale'] = await columnsOfScale(get, put);
    write('types/columns.json', `${JSON.stringify(columns, null, 1)}\n`);
  } finally {
    for (const child of processes) child.kill('SIGKILL');
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The columns of the scale of a custom resource, which only an object shows that can be scaled. */
async function columnsOfScale(get, put) {
  const group = 'data.example.com';
  const replicas = { type: 'object', properties: { replicas: { type: 'integer' } } };
  await put('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `as.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural: 'as', kind: 'A' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: replicas, status: replicas } } },
          subresources: { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
        },
      ],
    },
  });
  const path = `/apis/${group}/v1/as`;
  await eventually(() => get(path));
  await put(path, { apiVersion: `${group}/v1`, kind: 'A', metadata: { name: 'a' }, spec: { replicas: 0 } });
  return (await get(`${path}/a/scale`, 'application/json;as=Table;g=meta.k8s.io;v=v1')).columnDefinitions;
}

/** The bindings and roles of a new cluster, without what every server assigns anew. */
async function defaultRoles(get) {
  const all = [];
  for (const kind of ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']) {
    const path = `/apis/rbac.authorization.k8s.io/v1/${kind.toLowerCase()}s?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults`;
    for (const { metadata, ...rest } of (await get(path)).items) {
      const { annotations, labels, name, namespace } = metadata;
      all.push(
        sorted({
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind,
          metadata: { annotations, labels, name, namespace },
          ...rest,
        }),
      );
    }
  }
  return all;
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

/** Drops descriptions, which are prose. A property may have that name, too. */
function withoutProse(value, isProperties = false) {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => isProperties || key !== 'description' || typeof member !== 'string')
      .map(([key, member]) => [key, withoutProse(member, !isProperties && key === 'properties')]),
  );
}

function ready(get) {
  return eventually(async () => {
    const { kind } = await get('/apis/rbac.authorization.k8s.io/v1/clusterroles/admin');
    if (kind !== 'ClusterRole' || (await get('/readyz', '*/*')) !== 'ok')
      throw new Error('kube-apiserver is not ready');
  });
}

async function eventually(action) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      if (attempt === 600) throw error;
    }
    await new Promise((done) => setTimeout(done, 200));
  }
}

function fetchJson(port, path, accept, body) {
  return new Promise((done, fail) => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { accept, authorization: 'Bearer data', 'content-type': 'application/json' };
    const options = { host: '127.0.0.1', port, path, method, rejectUnauthorized: false, headers };
    request(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => (text += part));
      response.on('end', () => {
        if (response.statusCode > 201) fail(new Error(`${path}: ${response.statusCode} ${text.slice(0, 200)}`));
        else done(text.startsWith('{') ? JSON.parse(text) : text);
      });
    })
      .on('error', fail)
      .end(body);
  });
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}
