import { compactVerify } from 'jose';
import { ApiError } from '../apimachinery/meta/errors.js';
import { objectAt, stringAt } from '../apimachinery/json/json.js';
import { FakeLoopbackClients } from '../../test/fakes/registry/loopback-client.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { BootstrapSigner } from './bootstrap/bootstrap-signer.js';
import { rootCaPublisher } from './certificates/root-ca-publisher.js';
import { ServiceAccountTokens } from './service-accounts/service-account-tokens.js';
import { defaultServiceAccounts } from './service-accounts/service-accounts.js';
import { TokenCleaner } from './bootstrap/token-cleaner.js';

const b64 = (text: string): string => Buffer.from(text).toString('base64');
/** Runs all pending promise callbacks. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};
const of = (clients: FakeLoopbackClients, resource: string) => clients.for({ group: '', resource });
const namespace = (name: string, phase = 'Active') => ({ metadata: { name }, status: { phase } });

let clients: FakeLoopbackClients;
let clock: FakeClock;
let errors: string[];
let stop: AbortController;
const failed = (where: string, error: unknown): void => void errors.push(`${where}: ${String(error)}`);

beforeEach(() => {
  clients = new FakeLoopbackClients();
  clock = new FakeClock();
  errors = [];
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  expect(errors).toEqual([]);
});

describe('default service accounts', () => {
  test('are created in every active namespace, and again after a deletion', async () => {
    of(clients, 'namespaces').put(namespace('a'));
    of(clients, 'namespaces').put(namespace('gone', 'Terminating'));
    defaultServiceAccounts(clients, clock, failed).start(stop.signal);
    await settle();
    expect([...of(clients, 'serviceaccounts').objects.keys()]).toEqual(['a/default']);
    of(clients, 'namespaces').put(namespace('b'));
    await of(clients, 'serviceaccounts').delete('a', 'default');
    await settle();
    expect([...of(clients, 'serviceaccounts').objects.keys()].sort()).toEqual(['a/default', 'b/default']);
  });

  test('a namespace that terminates in the meantime is not an error', async () => {
    const causes = [{ reason: 'NamespaceTerminating', message: '', field: '' }];
    of(clients, 'serviceaccounts').before = (call) => {
      if (call.startsWith('create')) throw new ApiError(403, 'Forbidden', 'ends', { causes });
    };
    of(clients, 'namespaces').put(namespace('a'));
    defaultServiceAccounts(clients, clock, failed).start(stop.signal);
    await settle();
    expect(of(clients, 'serviceaccounts').calls).toContain('create a/default');
  });
});

test('the root certificates are published, and restored after a change by another client', async () => {
  of(clients, 'namespaces').put(namespace('a'));
  rootCaPublisher('PEM', clients, clock, failed).start(stop.signal);
  await settle();
  const maps = of(clients, 'configmaps');
  expect(maps.objects.get('a/kube-root-ca.crt')?.['data']).toEqual({ 'ca.crt': 'PEM' });
  const changed = await maps.get('a', 'kube-root-ca.crt');
  await maps.update({ ...changed!, data: { 'ca.crt': 'evil' } });
  await settle();
  expect(maps.objects.get('a/kube-root-ca.crt')?.['data']).toEqual({ 'ca.crt': 'PEM' });
  const calls = maps.calls.length;
  maps.put({ metadata: { namespace: 'a', name: 'other' } });
  await settle();
  expect(maps.calls).toHaveLength(calls);
});

describe('service account tokens in Secrets', () => {
  const signer = {
    signForSecret: ({
      namespace: ns,
      serviceAccount,
      secretName,
    }: {
      namespace: string;
      serviceAccount: { name: string; uid: string };
      secretName: string;
    }) => Promise.resolve(`${ns}/${serviceAccount.name}/${serviceAccount.uid}/${secretName}`),
  };
  const secret = (name: string, account: string, over = {}) => ({
    metadata: {
      namespace: 'n',
      name,
      uid: `u-${name}`,
      annotations: { 'kubernetes.io/service-account.name': account },
    },
    type: 'kubernetes.io/service-account-token',
    ...over,
  });
  const start = (): void => {
    new ServiceAccountTokens({ clients, clock, signer, rootCa: 'CA', onError: failed }).start(stop.signal);
  };

  test('are filled for the account', async () => {
    of(clients, 'serviceaccounts').put({ metadata: { namespace: 'n', name: 'sa', uid: 'u1' } });
    of(clients, 'secrets').put(secret('s', 'sa'));
    of(clients, 'secrets').put({ ...secret('opaque', 'sa'), type: 'Opaque' });
    start();
    await settle();
    const filled = of(clients, 'secrets').objects.get('n/s');
    expect(filled?.['data']).toEqual({ token: b64('n/sa/u1/s'), namespace: b64('n'), 'ca.crt': b64('CA') });
    expect(filled?.metadata.annotations?.['kubernetes.io/service-account.uid']).toBe('u1');
    expect(of(clients, 'secrets').objects.get('n/opaque')?.['data']).toBeUndefined();
  });

  test('are deleted with their account, and if an account of the same name has another uid', async () => {
    of(clients, 'serviceaccounts').put({ metadata: { namespace: 'n', name: 'sa', uid: 'u1' } });
    of(clients, 'secrets').put(secret('s', 'sa'));
    of(clients, 'secrets').put(secret('orphan', 'nobody'));
    const old = { 'kubernetes.io/service-account.name': 'sa', 'kubernetes.io/service-account.uid': 'u0' };
    of(clients, 'secrets').put(
      secret('old', 'sa', { metadata: { namespace: 'n', name: 'old', uid: 'x', annotations: old } }),
    );
    start();
    await settle();
    expect([...of(clients, 'secrets').objects.keys()]).toEqual(['n/s']);
    await of(clients, 'serviceaccounts').delete('n', 'sa');
    await settle();
    expect([...of(clients, 'secrets').objects.keys()]).toEqual([]);
  });

  test('are removed from the secrets of the account when deleted', async () => {
    of(clients, 'serviceaccounts').put({
      metadata: { namespace: 'n', name: 'sa', uid: 'u1' },
      secrets: [{ name: 's' }, { name: 't' }],
    });
    of(clients, 'secrets').put(secret('s', 'sa'));
    start();
    await settle();
    await of(clients, 'secrets').delete('n', 's');
    await settle();
    expect(of(clients, 'serviceaccounts').objects.get('n/sa')?.['secrets']).toEqual([{ name: 't' }]);
  });
});

const bootstrapToken = (id: string, data: Record<string, string> = {}) => ({
  metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}`, uid: id },
  type: 'bootstrap.kubernetes.io/token',
  data: Object.fromEntries(
    Object.entries({
      'token-id': id,
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-signing': 'true',
      ...data,
    }).map(([key, value]) => [key, b64(value)]),
  ),
});

describe('bootstrap tokens', () => {
  test('are removed when they expire, and at once if their expiration is invalid', async () => {
    const end = new Date(clock.now() + 5000).toISOString();
    of(clients, 'secrets').put(bootstrapToken('aaaaaa', { expiration: end }));
    of(clients, 'secrets').put(bootstrapToken('bbbbbb', { expiration: 'nonsense' }));
    of(clients, 'secrets').put(bootstrapToken('cccccc'));
    of(clients, 'secrets').put({ ...bootstrapToken('dddddd', { expiration: 'nonsense' }), type: 'Opaque' });
    new TokenCleaner(clients, clock, failed).start(stop.signal);
    await settle();
    const left = (): string[] =>
      [...of(clients, 'secrets').objects.values()].map(({ metadata }) => String(metadata.uid));
    expect(left()).toEqual(['aaaaaa', 'cccccc', 'dddddd']);
    clock.advance(5001);
    await settle();
    expect(left()).toEqual(['cccccc', 'dddddd']);
  });

  test('sign cluster-info, and another library verifies the signature', async () => {
    const secrets = of(clients, 'secrets');
    secrets.put(bootstrapToken('aaaaaa'));
    secrets.put(bootstrapToken('bbbbbb', { 'usage-bootstrap-signing': 'false' }));
    secrets.put(bootstrapToken('cccccc', { 'token-id': 'dddddd' }));
    secrets.put(bootstrapToken('eeeeee', { expiration: new Date(clock.now() + 1000).toISOString() }));
    const signing = new BootstrapSigner({ clients, clock, server: 'https://h:1', rootCa: 'CA', onError: failed });
    signing.start(clients, stop.signal);
    await settle();
    const data = (): Record<string, unknown> => ({
      ...objectAt(of(clients, 'configmaps').objects.get('kube-public/cluster-info'), 'data'),
    });
    expect(Object.keys(data()).sort()).toEqual(['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-eeeeee', 'kubeconfig']);
    const payload = Buffer.from(String(data()['kubeconfig'])).toString('base64url');
    const jws = String(data()['jws-kubeconfig-aaaaaa']).replace('..', `.${payload}.`);
    const verified = await compactVerify(jws, Buffer.from('0123456789abcdef'), { algorithms: ['HS256'] });
    expect(verified.protectedHeader).toEqual({ alg: 'HS256', kid: 'aaaaaa' });
    expect(Buffer.from(verified.payload).toString()).toContain('server: https://h:1');
    clock.advance(1001);
    await settle();
    expect(Object.keys(data()).sort()).toEqual(['jws-kubeconfig-aaaaaa', 'kubeconfig']);
    await secrets.delete('kube-system', 'bootstrap-token-aaaaaa');
    await settle();
    expect(Object.keys(data())).toEqual(['kubeconfig']);
    const roles = clients.for({ group: 'rbac.authorization.k8s.io', resource: 'roles' });
    expect([...roles.objects.keys()]).toEqual(['kube-public/kubeadm:bootstrap-signer-clusterinfo']);
  });

  test('a new address is published at the next start, unless another client changed the kubeconfig', async () => {
    const start = async (server: string): Promise<string> => {
      new BootstrapSigner({ clients, clock, server, rootCa: 'CA', onError: failed }).start(clients, stop.signal);
      await settle();
      const data = objectAt(of(clients, 'configmaps').objects.get('kube-public/cluster-info'), 'data');
      return /server: (.*)/.exec(stringAt(data ?? {}, 'kubeconfig') ?? '')?.[1] ?? '';
    };
    const maps = of(clients, 'configmaps');
    of(clients, 'secrets').put(bootstrapToken('aaaaaa'));
    expect(await start('https://one:1')).toBe('https://one:1');
    // Another client writes between the read and the update: the update is retried.
    let refusals = 1;
    maps.before = (call) => {
      if (call.startsWith('update') && refusals-- > 0) throw new ApiError(409, 'Conflict', 'changed');
    };
    expect(await start('https://two:2')).toBe('https://two:2');
    const now = maps.objects.get('kube-public/cluster-info');
    const written = stringAt(objectAt(now, 'data') ?? {}, 'kubeconfig') ?? '';
    const kubeconfig = written.replace('https://two:2', 'https://balancer');
    maps.put({ ...now, metadata: { ...now?.metadata }, data: { kubeconfig } });
    expect(await start('https://three:3')).toBe('https://balancer');
  });
});
