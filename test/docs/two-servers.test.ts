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
  `standalone.md: two servers on one MongoDB${reason === '' ? '' : ` (skipped: ${reason})`}`,
  async () => {
    set = await ReplicaSet.start('path' in mongod ? mongod.path : '', 1);
    const program = { kubectl: `"${'path' in kubectl ? kubectl.path : ''}"` };
    guide = new Guide(folder, program, {
      DATA_DIR: join(folder, 'data'),
      CONFIG: join(folder, 'encryption.yaml'),
      MONGODB_URI: set.uri,
      PORT_A: await freePort(),
      PORT_B: await freePort(),
    });
    const printed: string[] = [];
    for (const { kind, text } of shellBlocks('standalone.md')) {
      if (kind === 'sh two server') await guide.serve(text);
      else if (kind === 'sh two') printed.push(await guide.run(text));
    }
    const [, both = '', lease = ''] = printed;
    expect(both).toMatch(/^reports +Active/m);
    expect(both).toMatch(/^Username +system:serviceaccount:default:default$/m);
    expect(lease).toMatch(/^annex-controllers +\S+/m);
  },
  240_000,
);
