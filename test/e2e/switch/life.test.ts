import { adoptionGuide, GUIDED_GROUPS } from '../parts/adoption-guide.js';
import { adoptionHelm, HELM_GROUP } from '../parts/adoption-helm.js';
import { adoptionPlan } from '../parts/adoption-plan.js';
import { adoptionSource, SOURCE_GROUPS } from '../parts/adoption-source.js';
import { describeOnCluster } from '../suite.js';

describeOnCluster(
  'adoptions, as people have them',
  { groups: [HELM_GROUP, ...GUIDED_GROUPS, ...SOURCE_GROUPS] },
  (cluster) => {
    adoptionPlan(cluster);
    adoptionSource(cluster);
    adoptionGuide(cluster);
    adoptionHelm(cluster);
  },
);
