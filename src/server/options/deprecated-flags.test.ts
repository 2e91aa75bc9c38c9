import { createLogger } from '../../util/logger.js';
import { systemClock } from '../../util/clock.js';
import { featureGates } from '../../util/feature-gates.js';
import { serverContext } from '../compose/server-context.js';
import { parseOptions, serveCommand } from './command-line.js';

const USED = { admissionControl: ['Priority'], featureGates: ['AuthorizeWithSelectors=true'] };
const FLAG =
  'Flag --admission-control has been deprecated, Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.';
const GATE = 'setting GA feature gate AuthorizeWithSelectors=true, which will be removed in a future release';

/** Returns the warnings of a server that starts with the given flags. */
function warnings(given: Record<string, string[]>): string[] {
  const warned: string[] = [];
  const logger = createLogger({ verbosity: 0 });
  jest.spyOn(logger, 'warn').mockImplementation((text) => {
    warned.push(text);
  });
  serverContext(parseOptions(given), '', systemClock, logger);
  return warned;
}

afterEach(() => {
  featureGates.reset();
});

test('a deprecated flag works, and its use is logged', () => {
  expect(parseOptions(USED)).toMatchObject({ enableAdmissionPlugins: ['Priority'] });
  expect(warnings(USED)).toEqual([FLAG, GATE]);
});

test('the warnings can be disabled', () => {
  expect(warnings({ ...USED, deprecationWarnings: ['false'] })).toEqual([]);
});

test('--help marks the flag as deprecated', () => {
  const help = serveCommand(() => Promise.resolve()).helpInformation();
  expect(help.replace(/\s+/g, ' ')).toContain('(DEPRECATED: Use --enable-admission-plugins or');
});
