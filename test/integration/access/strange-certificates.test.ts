import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Http1 } from '../client.js';
import type { ServingPair } from '../openid/certificates.js';
import { ADMIN, ROOT, scratchFolder, TestServer } from '../server.js';

const TRIES = 50;

/**
 * The CA of a cluster that was made anew has the name of the old one, and another key. OpenSSL records the failed signature, which
 * ended connections.
 */
describe('certificates of another CA with the same name', () => {
  const files = join(ROOT, 'test/fixtures/certificates');
  const read = (name: string): string => readFileSync(join(files, name), 'utf8');
  const present: ServingPair = { key: read('present-client.key'), certificate: read('present-client.crt') };
  const former: ServingPair = { key: read('former-client.key'), certificate: read('former-client.crt') };
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));

  beforeAll(async () => {
    server = await TestServer.start(folder, [`--client-ca-file=${join(files, 'present-ca.crt')}`]);
  });

  /** Returns how often each outcome occurred, each on a connection of its own. */
  async function outcomes(
    pair: ServingPair,
    token: string,
    maxVersion: 'TLSv1.2' | 'TLSv1.3',
  ): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (let i = 0; i < TRIES; i++) {
      const http = new Http1(server as TestServer, 1, { ...pair, maxVersion });
      const outcome = await http.send({ path: '/version', token }).then(
        ({ status }) => String(status),
        (error: unknown) => String(error),
      );
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
    return counts;
  }

  describe.each(['TLSv1.2', 'TLSv1.3'] as const)('%s', (version) => {
    test('are answered with 401, always', async () => {
      expect(await outcomes(former, '', version)).toEqual({ 401: TRIES });
    });

    test('a good token beside such a certificate counts', async () => {
      expect(await outcomes(former, ADMIN, version)).toEqual({ 200: TRIES });
    });

    test('a chain that ends with the present CA, which did not issue it, is answered with 401', async () => {
      const chained = { key: former.key, certificate: former.certificate + read('present-ca.crt') };
      expect(await outcomes(chained, '', version)).toEqual({ 401: TRIES });
    });

    test('certificates of the present CA are not affected', async () => {
      expect(await outcomes(present, '', version)).toEqual({ 200: TRIES });
    });
  });
});
