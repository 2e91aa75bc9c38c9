// Measures how one user's flood of lists affects another user's creates and gets:
//   node test/bench/fairness.mjs [PORT] [DIST] [flags of the load program]
// 50 connections list 1,000 objects back to back. The other user creates an object and gets it, one request at a time. Needs Go.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchServer, DIST, here } from './server.mjs';

const [port = '6471', dist = DIST, ...flags] = process.argv.slice(2);
const built = join(here, '../../.cache/bench');
mkdirSync(built, { recursive: true });
execFileSync('go', ['build', '-o', join(built, 'fairness'), '.'], { cwd: join(here, 'fairness'), stdio: 'inherit' });
const server = new BenchServer({ dist, port, flags: ['--authorization-mode=AlwaysAllow', '--controllers='] });
writeFileSync(
  join(server.scratch, 'tokens.csv'),
  'secret,admin,admin,system:masters\nloud-1,loud,loud\nquiet-1,quiet,quiet\n',
);
await server.start();
const users = ['-admin', 'secret', '-loud', 'loud-1', '-quiet', 'quiet-1'];
const load = spawn(join(built, 'fairness'), ['-url', `https://127.0.0.1:${port}`, ...users, ...flags], {
  stdio: 'inherit',
});
process.exitCode = await new Promise((resolve) => load.on('close', (code) => resolve(code ?? 1)));
await server.stop();
