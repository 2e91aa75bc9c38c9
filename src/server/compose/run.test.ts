import { defaultOptions } from '../options/options.js';
import { drainMillis } from './run.js';

/** The milliseconds reserved for the store out of the 30 s that a pod has to terminate. */
const STORE_MILLIS = 7_000;

describe('the time to drain requests in flight', () => {
  test.each([
    ['by default', {}, 60_000],
    ['with a longer request timeout', { requestTimeout: 120_000 }, 120_000],
    ['with a delay of the shutdown', { shutdownDelayDuration: 20_000 }, 60_000],
  ])('standalone, %s', (_, options, expected) => {
    expect(drainMillis({ ...defaultOptions(), ...options })).toBe(expected);
  });

  test.each([
    ['by default', 0],
    ['as the chart has it', 5_000],
    ['with a long delay', 20_000],
  ])('an extension server ends within 30 s, %s', (_, shutdownDelayDuration) => {
    const options = { ...defaultOptions(), serviceName: 'annex', requestTimeout: 120_000, shutdownDelayDuration };
    const millis = drainMillis(options);
    expect(millis).toBeGreaterThanOrEqual(1_000);
    expect(shutdownDelayDuration + millis + STORE_MILLIS).toBeLessThanOrEqual(30_000);
  });
});
