import { Registry } from 'prom-client';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import type { Logger } from '../../util/logger.js';
import { ClusterLinks, linkCallbacks } from './cluster-links.js';

function setUp() {
  const lines: string[] = [];
  const logger: Logger = {
    info: (message) => void lines.push(`info ${message}`),
    warn: (message) => void lines.push(`warn ${message}`),
    error: (message) => void lines.push(`error ${message}`),
    enabled: () => false,
    v: () => undefined,
    flush: () => Promise.resolve(),
  };
  const registry = new Registry();
  const clock = new FakeClock();
  const links = new ClusterLinks(registry, logger, clock);
  const value = async (link: string): Promise<string | undefined> =>
    new RegExp(`^annex_cluster_link_broken\\{link="${link}"\\} (\\d)$`, 'm').exec(await registry.metrics())?.[1];
  return { lines, clock, links, value };
}

describe('ClusterLinks', () => {
  test('logs a failure once, and again after a while or with another message', async () => {
    const { lines, clock, links, value } = setUp();
    expect(await value('namespaces')).toBe('0');
    for (let i = 0; i < 3; i++) links.broken('namespaces', new Error('forbidden'));
    links.broken('namespaces', new Error('away'));
    clock.advance(600_000);
    links.broken('namespaces', new Error('away'));
    const text = (what: string): string =>
      `warn namespaces: ${what}: looking up namespaces individually; run annex doctor for the remedy`;
    expect(lines).toEqual([text('forbidden'), text('away'), text('away')]);
    expect([await value('namespaces'), await value('owner')]).toEqual(['1', '0']);
  });

  test('logs a recovery once', async () => {
    const { lines, links, value } = setUp();
    const reported = linkCallbacks(links, 'owner');
    reported.restored();
    reported.broken('gone');
    reported.restored();
    reported.restored();
    expect(lines.slice(1)).toEqual(['info owner: restored']);
    expect(await value('owner')).toBe('0');
  });

  test('logs an untrusted certificate now and then, without marking the link as broken', async () => {
    const { lines, clock, links, value } = setUp();
    links.logUntrustedClient('x509: one');
    links.logUntrustedClient('x509: two');
    expect(lines).toEqual([expect.stringMatching(/^warn front-proxy: .*: x509: one; .*--proxy-client-cert-file/)]);
    clock.advance(600_000);
    links.logUntrustedClient('x509: three');
    expect(lines).toHaveLength(2);
    expect(await value('front-proxy')).toBe('0');
  });
});
