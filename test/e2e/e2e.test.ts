import { access } from './parts/access.js';
import { admission } from './parts/admission.js';
import { asking } from './parts/asking.js';
import { alerts } from './parts/alerts.js';
import { adoption } from './parts/adoption.js';
import { definitions } from './parts/definitions.js';
import { detaching } from './parts/detach.js';
import { demo } from './parts/demo.js';
import { faults } from './parts/faults.js';
import { garbage } from './parts/garbage.js';
import { guides } from './parts/guides.js';
import { install } from './parts/install.js';
import { namespaces } from './parts/namespaces.js';
import { oracle } from './parts/oracle.js';
import { outage } from './parts/outage.js';
import { quota } from './parts/quota.js';
import { releases } from './parts/releases.js';
import { restarts } from './parts/restarts.js';
import { reviews } from './parts/reviews.js';
import { Rotation } from './parts/rotation.js';
import { tracing } from './parts/tracing.js';
import { trust } from './parts/trust.js';
import { twins } from './parts/twins.js';
import { uninstall } from './parts/uninstall.js';
import { watches } from './parts/watches.js';
import { defineWidgets, GROUP } from './widgets.js';
import { describeOnCluster, say } from './suite.js';

describeOnCluster('a cluster with Annex in it', { traced: true }, (cluster) => {
  const rotation = new Rotation(cluster);

  install(cluster);
  describe('widgets', () => {
    // Early, because the cluster's controllers take a while to discover new types.
    test('are defined', async () => {
      await defineWidgets(cluster, GROUP);
      rotation.begin();
    });
  });
  demo(cluster);
  guides(cluster);
  access(cluster);
  trust(cluster);
  reviews(cluster);
  tracing(cluster);
  twins(cluster);
  oracle(cluster, say);
  namespaces(cluster);
  garbage(cluster);
  quota(cluster);
  admission(cluster);
  watches(cluster);
  asking(cluster);
  definitions(cluster);
  test('meanwhile the CA of the replicas is rotated, and the replicas are trusted throughout', async () => {
    expect(await rotation.end()).toBeGreaterThan(20);
  });
  releases(cluster);
  alerts(cluster, say);
  adoption(cluster);
  outage(cluster, say);
  detaching(cluster, say);
  faults(cluster, say);
  restarts(cluster, say);
  uninstall(cluster);
});
