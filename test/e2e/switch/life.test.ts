import { TestCluster } from '../cluster.js';
import { adoptionGuide, GUIDED_GROUPS } from '../parts/adoption-guide.js';
import { adoptionHelm, HELM_GROUP } from '../parts/adoption-helm.js';
import { adoptionPlan } from '../parts/adoption-plan.js';
import { adoptionSource, SOURCE_GROUPS } from '../parts/adoption-source.js';

const START_MILLIS = 600_000;
const begun = performance.now();

function say(line: string): void {
  process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
}

const missing = process.env['E2E_MISSING'] ?? '';
const title = 'adoptions, as people have them';

(missing === '' ? describe : describe.skip)(missing === '' ? title : `${title} (skipped: ${missing})`, () => {
  const cluster = new TestCluster({ groups: [HELM_GROUP, ...GUIDED_GROUPS, ...SOURCE_GROUPS] });

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
    say((expect.getState().currentTestName ?? '').slice(title.length + 1));
  });

  adoptionPlan(cluster);
  adoptionSource(cluster);
  adoptionGuide(cluster);
  adoptionHelm(cluster);
});
