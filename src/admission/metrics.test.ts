import { Registry } from 'prom-client';
import { fakeAttributes } from '../../test/fakes/admission/attributes.js';
import { admissionChain } from './chain.js';
import type { AdmissionPlugin } from './interfaces.js';
import { AdmissionMetrics } from './metrics.js';

const registry = new Registry();
let now = 0;
const metrics = new AdmissionMetrics(registry, () => now);

const plugin = (name: string, millis: number, more: Partial<AdmissionPlugin> = {}): AdmissionPlugin => ({
  name,
  handles: (operation) => operation === 'CREATE',
  admit: () => {
    now += millis;
  },
  ...more,
});

const chain = admissionChain(
  [
    plugin('Quick', 1),
    plugin('Slow', 30, {
      admit: async () => {
        await Promise.resolve();
        now += 30;
      },
    }),
    plugin('Strict', 0, {
      validate: () => {
        now += 7;
        throw new Error('no');
      },
    }),
  ],
  metrics,
);

test('each step and each plugin is measured', async () => {
  await chain.admit(fakeAttributes({}));
  expect(() => chain.validate(fakeAttributes({}))).toThrow('no');
  await chain.admit(fakeAttributes({ operation: 'DELETE' }));
  const text = await registry.metrics();
  const lines = (start: string): string[] => text.split('\n').filter((line) => line.startsWith(start));
  const step = 'apiserver_admission_step_admission_duration_seconds';
  const admit = '{type="admit",operation="CREATE",rejected="false"}';
  const validate = '{type="validate",operation="CREATE",rejected="true"}';
  expect(lines(`${step}_sum`)).toEqual(
    expect.arrayContaining([`${step}_sum${admit} 0.031`, `${step}_sum${validate} 0.007`]),
  );
  expect(lines(`${step}_summary_sum`)).toContain(`${step}_summary_sum${admit} 0.031`);
  expect(lines(`${step}_summary_count`)).toContain(`${step}_summary_count${admit} 1`);
  expect(text).toContain(`# TYPE ${step}_summary summary`);
  const controller = 'apiserver_admission_controller_admission_duration_seconds';
  const of = (name: string, type: string, rejected: string): string =>
    `${controller}_sum{name="${name}",type="${type}",operation="CREATE",rejected="${rejected}"}`;
  expect(lines(`${controller}_sum`)).toEqual(
    expect.arrayContaining([
      `${of('Quick', 'admit', 'false')} 0.001`,
      `${of('Slow', 'admit', 'false')} 0.03`,
      `${of('Strict', 'admit', 'false')} 0`,
      `${of('Strict', 'validate', 'true')} 0.007`,
    ]),
  );
  // The plugins have no part in deletions.
  expect(text).not.toContain('DELETE');
});
