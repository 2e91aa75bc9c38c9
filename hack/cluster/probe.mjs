// Sends a GET through kube-apiserver four times a second until it is told to end, and then prints how it was answered:
//   node hack/cluster/probe.mjs CLUSTER_DIR PATH
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';

const INTERVAL_MILLIS = 250;
const TIMEOUT_MILLIS = 2_000;
const [folder, path] = process.argv.slice(2);
const pki = (name) => readFileSync(`${folder}/pki/${name}`);
const agent = new Agent({ keepAlive: true });
const options = { agent, ca: pki('ca.crt'), cert: pki('admin.crt'), key: pki('admin.key'), timeout: TIMEOUT_MILLIS };

const counts = new Map();
let answeredAt = performance.now();
let longest = 0;

function count(outcome) {
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
}

function ask() {
  const request = get(`https://10.89.0.10:6443${path}`, options, (response) => {
    count(response.statusCode);
    response.resume();
    if (response.statusCode !== 200) return;
    longest = Math.max(longest, performance.now() - answeredAt);
    answeredAt = performance.now();
  });
  request.on('timeout', () => request.destroy(new Error('timeout')));
  request.on('error', (error) => count(error.code ?? error.message));
}

setInterval(ask, INTERVAL_MILLIS);
process.on('SIGTERM', () => {
  longest = Math.max(longest, performance.now() - answeredAt);
  const outcomes = [...counts].map(([outcome, times]) => `${outcome}: ${times}`).join(', ');
  console.log(`at most ${(longest / 1_000).toFixed(1)} s without an answer (${outcomes})`);
  process.exit(0);
});
