import { ALL, explore, type Guards } from './log.js';
test('seek', () => {
  const out: string[] = [];
  for (const guard of ['holdsFirst'] as (keyof Guards)[]) {
    const end = Date.now() + 240000; const found: number[] = [];
    let seed = 5000;
    for (; found.length < 1 && Date.now() < end; seed++)
      if (explore(seed, { ...ALL, [guard]: false }).violations.length > 0) found.push(seed);
    out.push(guard + ' ' + found.join(' ') + ' upto ' + seed);
  }
  const end = Date.now() + 100000; let n = 0; const bad: string[] = [];
  for (let seed = 1; Date.now() < end && bad.length < 3; seed++, n++) { const { violations } = explore(seed, ALL); if (violations.length) bad.push(`${seed} ${violations[0]}`); }
  out.push('ALL ' + n + ' ' + bad.join(' | '));
  require('fs').writeFileSync('/tmp/ld/seek.txt', out.join('\n'));
}, 600000);
