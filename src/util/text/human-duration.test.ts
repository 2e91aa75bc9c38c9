import { humanDuration } from './human-duration.js';

const s = 1000;
const m = 60 * s;
const h = 60 * m;
const d = 24 * h;
const y = 365 * d;

test.each<[number, string]>([
  [-3 * s, '<invalid>'],
  [-2 * s, '<invalid>'],
  [-1.5 * s, '0s'],
  [0, '0s'],
  [119 * s, '119s'],
  [2 * m, '2m'],
  [2 * m + 3 * s, '2m3s'],
  [10 * m + 30 * s, '10m'],
  [179 * m, '179m'],
  [3 * h, '3h'],
  [7 * h + 5 * m, '7h5m'],
  [47 * h + 59 * m, '47h'],
  [2 * d, '2d'],
  [7 * d + 23 * h, '7d23h'],
  [8 * d, '8d'],
  [729 * d, '729d'],
  [2 * y, '2y'],
  [7 * y + 3 * d, '7y3d'],
  [8 * y + 3 * d, '8y'],
])('%d ms is shown as %s', (millis, text) => {
  expect(humanDuration(millis)).toBe(text);
});
