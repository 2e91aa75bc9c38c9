import { join } from 'node:path';
import { findKubectl } from '../conformance/kubectl.js';
import { scratchFolder } from '../integration/server.js';
import { findMongod, ReplicaSet } from '../storage/mongod.js';
import { freePort, Guide, shellBlocks } from './guides.js';

const kubectl = findKubectl();
const mongod = findMongod();
const reason = 'missing' in kubectl ? kubectl.missing : 'reason' in mongod ? mongod.reason : '';

let guide: Guide | undefined;
let set: ReplicaSet | undefined;
const folder = scratchFolder(async () => {
  await guide?.stop();
  await set?.dispose();
});

(reason === '' ? test : test.skip)(
  `backup.md: from the embedded store to MongoDB and back${reason === '' ? '' : ` (skipped: ${reason})`}`,
  async () => {
    set = await ReplicaSet.start('path' in mongod ? mongod.path : '', 1);
    const program = { kubectl: `"${'path' in kubectl ? kubectl.path : ''}"` };
    guide = new Guide(folder, program, {
      DATA_DIR: join(folder, 'data'),
      KUBECONFIG: join(folder, 'data/admin.kubeconfig'),
      BACKUP: join(folder, 'annex.backup'),
      RESTORED: join(folder, 'restored'),
      MONGODB_URI: set.uri,
      PORT: await freePort(),
    });
    const [serve] = shellBlocks('standalone.md').filter(({ kind }) => kind === 'sh server');
    await guide.serve(serve?.text ?? '');
    await guide.run('kubectl create configmap mine --from-literal=n=1');
    const before = await guide.run('kubectl get configmap mine -o yaml');
    const [backup] = shellBlocks('backup.md').filter(({ kind }) => kind === 'sh');
    await guide.run(backup?.text ?? '');
    await guide.stop();
    await guide.run('mkdir -m 700 "$RESTORED" && cp -a "$DATA_DIR/pki" "$RESTORED/"');
    const printed: string[] = [];
    for (const { kind, text } of shellBlocks('backup.md')) {
      if (kind === 'sh two') printed.push(await guide.run(text));
      if (kind !== 'sh two server') continue;
      await guide.serve(text);
      const get = 'kubectl --kubeconfig "$RESTORED/admin.kubeconfig" get configmap mine -o yaml';
      expect(await guide.run(get)).toBe(before);
    }
    const [there = '', back = ''] = printed;
    expect(there).toMatch(/^Restored \d+ objects /m);
    expect(back).toMatch(/^records: ok /m);
  },
  240_000,
);
