import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../integration/server.js';
import { describeProgram } from '../program.js';

const { status, stdout, stderr } = spawnSync(join(ROOT, 'hack/python-client.sh'), { encoding: 'utf8' });

describeProgram('the official Python client', {
  command: status === 0 ? { path: stdout.trim() } : { missing: stderr.trim().split('\n').at(-1) ?? 'unknown' },
  program: join(__dirname, 'client.py'),
  parts: ['definitions', 'custom_objects', 'watches', 'dynamic_client', 'server_side_apply', 'typed_core'],
});
