import { TestCluster } from './cluster.js';
import { access } from './parts/access.js';
import { demo } from './parts/demo.js';
import { garbage } from './parts/garbage.js';
import { install } from './parts/install.js';
import { namespaces } from './parts/namespaces.js';
import { twins } from './parts/twins.js';
import { defineWidgets, GROUP } from './widgets.js';

const START_MILLIS = 300_000;
const begun = performance.now();

/** What is going on, while it goes on: jest itself is silent until the end of a file. */
function say(line: string): void {
  process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
}

describe('a cluster with Annex in it', () => {
  const cluster = new TestCluster();

  beforeAll(async () => {
    try {
      await cluster.start(say);
    } catch (error) {
      say(cluster.logs());
      throw error;
    }
  }, START_MILLIS);
  afterAll(() => cluster.stop(), START_MILLIS);
  beforeEach(() => {
    say(expect.getState().currentTestName ?? '');
  });

  install(cluster);
  describe('widgets', () => {
    // Early: the controllers of the cluster take their time to find new types.
    test('are defined', () => defineWidgets(cluster, GROUP));
  });
  demo(cluster);
  access(cluster);
  twins(cluster);
  namespaces(cluster);
  garbage(cluster);
});
