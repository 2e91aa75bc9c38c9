import { Registry } from 'prom-client';
import type { ConfigurationSource } from '../../../admission/sources.js';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import type { Logger } from '../../../util/logger.js';
import { aggregatedPlugins } from './aggregated-plugins.js';
import type { Options } from '../../options/options.js';

const NOTHING: ConfigurationSource = {
  generation: 0,
  objects: () => [],
  synced: () => true,
  whenSynced: () => Promise.resolve(),
  subscribe: () => () => undefined,
};
const nobody = { post: () => Promise.reject(new Error('nobody is called')) };
const namespaces = { cached: () => undefined, get: () => undefined };
const SOURCES = {
  mutatingWebhooks: NOTHING,
  validatingWebhooks: NOTHING,
  mutatingPolicies: NOTHING,
  mutatingPolicyBindings: NOTHING,
  validatingPolicies: NOTHING,
  validatingPolicyBindings: NOTHING,
  params: { open: () => undefined, retain: () => undefined },
  namespaces,
};

function namesOf(flags: { enable?: string[]; disable?: string[] } = {}, followed = true): string[] {
  const silent = (): undefined => undefined;
  const logger = { info: silent, warn: silent, error: silent, v: silent } as unknown as Logger;
  const { enable: enableAdmissionPlugins = [], disable: disableAdmissionPlugins = [] } = flags;
  const plugins = aggregatedPlugins({
    options: { enableAdmissionPlugins, disableAdmissionPlugins } as unknown as Options,
    logger,
    clock: new FakeClock(),
    authorizer: { authorize: () => Promise.resolve({ decision: 'no-opinion', reason: '' }) },
    metrics: new Registry(),
    webhooks: { mutating: nobody, validating: nobody },
    namespaces,
    quotas: { name: 'ResourceQuota', handles: () => true },
    sources: followed ? SOURCES : undefined,
    files: {},
  });
  return plugins.map(({ name }) => name);
}

test('returns the plugins for any type, in the order of kube-apiserver', () => {
  expect(namesOf()).toEqual([
    'NamespaceLifecycle',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionWebhook',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionWebhook',
    'ResourceQuota',
  ]);
});

test('without the configurations of the cluster, only namespaces and quotas are enforced', () => {
  expect(namesOf({}, false)).toEqual(['NamespaceLifecycle', 'ResourceQuota']);
});

test('flags enable and disable plugins', () => {
  expect(namesOf({ enable: ['NamespaceExists'], disable: ['ValidatingAdmissionWebhook', 'ResourceQuota'] })).toEqual([
    'NamespaceLifecycle',
    'NamespaceExists',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionWebhook',
    'ValidatingAdmissionPolicy',
  ]);
});
