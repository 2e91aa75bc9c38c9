import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, ROOT } from '../../integration/server.js';
import type { TestCluster } from '../cluster.js';
import { DefinitionProxy } from '../definition-proxy.js';

const SCENARIOS = join(ROOT, 'test/oracle/scenarios');
const GOLDENS = join(ROOT, 'test/oracle/goldens');
const ONE_BY_ONE = 300_000;

/**
 * One scenario of custom resources from each family. E2E_ORACLE selects others by a regular expression. Scenarios about the cluster's
 * built-in types, or with objects that its controllers change, differ from the recordings, which were made without controllers.
 */
const SAMPLE =
  /^(apply-conflict|cel-messages|crud-namespaced|list-matrix|patch-merge|schema-defaults|select-fields|sub-status|table-basic|watch-events)$/;

const noPython = spawnSync('python3', ['-c', 'import yaml']).status !== 0;

interface Report {
  readonly [scenario: string]: { readonly failed: readonly unknown[] };
}

/** Replays what was recorded from kube-apiserver's custom resources against Annex, through the aggregator. */
export function oracle(cluster: TestCluster, say: (line: string) => void): void {
  const wanted = process.env['E2E_ORACLE'];
  const chosen = wanted === undefined ? SAMPLE : new RegExp(wanted);
  const note = noPython ? ' (skipped: Python with PyYAML is missing)' : '';

  (noPython ? describe.skip : describe)(`the oracle through the aggregator${note}`, () => {
    test(
      'the answers equal those of custom resources',
      async () => {
        const proxy = await DefinitionProxy.listen(cluster.address, ADMIN);
        const report = join(cluster.folder, 'oracle.json');
        try {
          // Revisions of the cluster and of Annex are unrelated.
          const options = ['--golden', GOLDENS, '--jobs', '6', '--ignore', 'resourceVersion', '--report', report];
          const files = scenarios(chosen);
          const out = await output(['check', ...options, '--server', proxy.url, '--token', ADMIN, ...files]);
          say(out.trim().split('\n').at(-1) ?? '');
          const failed = JSON.parse(readFileSync(report, 'utf8')) as Report;
          expect(failed).toEqual({});
          expect(out).toMatch(/^[1-9]\d{2,} passed, 0 failed$/m);
        } finally {
          proxy.close();
        }
      },
      ONE_BY_ONE,
    );
  });
}

const scenarios = (chosen: RegExp): string[] =>
  readdirSync(SCENARIOS)
    .filter((file) => file.endsWith('.yaml') && chosen.test(file.slice(0, -'.yaml'.length)))
    .map((file) => join(SCENARIOS, file));

/** Returns the output of the program that replays the scenarios. */
function output(args: readonly string[]): Promise<string> {
  const child = spawn('python3', [join(ROOT, 'test/oracle/oracle.py'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      resolve(out);
    });
  });
}
