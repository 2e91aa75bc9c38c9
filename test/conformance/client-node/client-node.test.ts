import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, ROOT, type TestServer } from '../../integration/server.js';
import { describeProgram } from '../program.js';

/** Returns a Node that is new enough for the client, or the reason why none exists. */
function findNode(): { readonly path: string } | { readonly missing: string } {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return { path: process.execPath };
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'hack/node.sh'), ['24'], { encoding: 'utf8' });
  return status === 0 ? { path: stdout.trim() } : { missing: stderr.trim() };
}

/** Writes a kubeconfig whose user gets the token from an exec plugin. */
function execKubeconfig(server: TestServer, folder: string): string {
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: ADMIN },
  };
  writeFileSync(join(folder, 'credential.json'), JSON.stringify(credential));
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'cat',
    args: [join(folder, 'credential.json')],
    interactiveMode: 'Never',
  };
  const path = join(folder, 'exec.kubeconfig');
  const cluster = { server: server.url, 'certificate-authority-data': Buffer.from(server.ca).toString('base64') };
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'annex', cluster }],
      users: [{ name: 'program', user: { exec } }],
      contexts: [{ name: 'program', context: { cluster: 'annex', user: 'program' } }],
      'current-context': 'program',
    }),
  );
  return path;
}

describeProgram('@kubernetes/client-node', {
  command: findNode(),
  program: join(__dirname, 'client.mjs'),
  parts: ['definitions', 'object API', 'server-side apply', 'errors carry a Status', 'informer', 'exec credential'],
  more: (server, folder) => [execKubeconfig(server, folder)],
});
