import { LazySignal } from './cancellation.js';

const reason = new Error('over');

test('calls listeners once, and removed ones not at all', () => {
  const cancellation = new LazySignal(reason);
  const heard: string[] = [];
  const left = (): void => void heard.push('left');
  cancellation.addEventListener('abort', () => void heard.push('stays'));
  cancellation.addEventListener('abort', left);
  cancellation.removeEventListener('abort', left);
  cancellation.abort();
  cancellation.abort();
  expect(heard).toEqual(['stays']);
  expect(cancellation.aborted).toBe(true);
});

test.each(['before', 'after'])('a signal created %s the abort is aborted with the reason', (when) => {
  const cancellation = new LazySignal(reason);
  const early = when === 'before' ? cancellation.signal : undefined;
  expect(early?.aborted ?? false).toBe(false);
  cancellation.abort();
  const { signal } = cancellation;
  expect(signal).toMatchObject({ aborted: true, reason });
  expect(early ?? signal).toBe(signal);
});
