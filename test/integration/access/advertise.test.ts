import { connect } from 'node:tls';
import { defaultHostAddress } from '../../../src/server/http/host-address.js';
import { freePort } from '../../storage/mongod.js';
import { digText, Http1, treeOf } from '../client.js';
import { eventually, scratchFolder, TestServer } from '../server.js';

const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';

/** Returns the subject alternative names of the serving certificate. */
const names = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subjectaltname ?? '');
      socket.destroy();
    }).on('error', reject);
  });

describe('the advertised address', () => {
  const running: TestServer[] = [];
  const folder = scratchFolder(() => Promise.all(running.map((server) => server.stop('SIGKILL'))));

  /** Returns the addresses that a server with these flags publishes. Waits for the expected one. */
  const reported = async (port: number, address: string, ...flags: string[]): Promise<Record<string, string>> => {
    const server = await TestServer.start(folder, [
      '--controllers=*,bootstrapsigner',
      `--secure-port=${port}`,
      ...flags,
    ]);
    running.push(server);
    const http = new Http1(server);
    const clusterInfo = await eventually(`cluster-info of ${address}`, async () => {
      const answer = await http.send({ path: CLUSTER_INFO });
      if (answer.status !== 200) return undefined;
      const url = /server: (\S+)/.exec(digText(treeOf(answer), 'data', 'kubeconfig'))?.[1] ?? '';
      return url.includes(address) ? url : undefined;
    });
    const api = treeOf(await http.send({ path: '/api' }));
    const openId = treeOf(await http.send({ path: '/.well-known/openid-configuration' }));
    const found = {
      clusterInfo,
      discovery: digText(api, 'serverAddressByClientCIDRs', '0', 'serverAddress'),
      keys: digText(openId, 'jwks_uri'),
      names: await names(server.port),
    };
    await server.stop();
    return found;
  };
  const everywhere = (address: string, port: number): object => ({
    clusterInfo: `https://${address}:${port}`,
    discovery: `${address}:${port}`,
    keys: `https://${address}:${port}/openid/v1/jwks`,
  });

  test('is published wherever clients look for it, and follows the flags', async () => {
    const port = await freePort();
    const given = await reported(port, '203.0.113.9', '--advertise-address=203.0.113.9');
    expect(given).toEqual({ ...everywhere('203.0.113.9', port), names: given['names'] });
    expect(given['names']).toContain('IP Address:203.0.113.9');
    const six = await reported(port, '2001:db8::9', '--advertise-address=2001:db8::9');
    expect(six).toEqual({ ...everywhere('[2001:db8::9]', port), names: six['names'] });
    expect(six['names']).toContain('IP Address:2001:DB8:0:0:0:0:0:9');
    const host = defaultHostAddress(4) ?? '127.0.0.1';
    const bare = await reported(port, host, '--bind-address=0.0.0.0');
    expect(bare).toEqual({ ...everywhere(host, port), names: bare['names'] });
    expect(bare['names']).toContain(`IP Address:${host}`);
    // A port chosen by the system is published like a configured one.
    const chosen = await reported(0, '203.0.113.9', '--advertise-address=203.0.113.9');
    const own = Number(chosen['discovery']?.split(':')[1]);
    expect(own).toBeGreaterThan(0);
    expect(chosen).toEqual({ ...everywhere('203.0.113.9', own), names: chosen['names'] });
  });
});
