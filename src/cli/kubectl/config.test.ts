import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toYaml } from '../../apimachinery/yaml/yaml.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { type ConfigFlags, targetOf } from './config.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubectl-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, config: JsonObject): string {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, toYaml(config));
  return path;
}

const first = (): string =>
  write('one/config', {
    'current-context': 'red',
    clusters: [{ name: 'red', cluster: { server: 'https://red', 'certificate-authority': 'ca.crt' } }],
    contexts: [{ name: 'red', context: { cluster: 'red', user: 'jane', namespace: 'team' } }],
    users: [{ name: 'jane', user: { token: 'one' } }],
  });
const second = (): string =>
  write('two/config', {
    'current-context': 'blue',
    clusters: [
      { name: 'red', cluster: { server: 'https://other', 'insecure-skip-tls-verify': true } },
      { name: 'blue', cluster: { server: 'https://blue' } },
    ],
    contexts: [{ name: 'blue', context: { cluster: 'blue', user: 'joe' } }],
    users: [{ name: 'joe', user: { tokenFile: 'token', as: 'root', exec: { command: './plugin', args: ['x'] } } }],
  });

const chosen = (flags: ConfigFlags): ReturnType<typeof targetOf> => {
  return targetOf(flags, { KUBECONFIG: [join(folder, 'absent'), first(), second()].join(':') });
};

beforeEach(() => {
  mkdirSync(join(folder, 'one'));
  writeFileSync(join(folder, 'one/ca.crt'), 'the CA');
  writeFileSync(join(folder, 'mine.crt'), 'mine');
});

test('of several files the first entry of a name counts, and its paths are relative to its file', () => {
  const { remote, namespace } = chosen({});
  expect(remote).toMatchObject({ ca: 'the CA', skipVerification: false, token: 'one' });
  expect([remote.url.host, namespace]).toEqual(['red', 'team']);
});

test('a context, a cluster, a user and a namespace are chosen by flags', () => {
  const { remote, namespace } = chosen({ context: 'blue' });
  expect(remote.url.host).toBe('blue');
  expect(remote.tokenFile).toBe(join(folder, 'two/token'));
  expect(remote.exec?.user).toEqual({ command: join(folder, 'two/plugin'), args: ['x'] });
  expect(remote.impersonation).toEqual({ 'Impersonate-User': 'root' });
  expect(namespace).toBe('default');
  expect(chosen({ cluster: 'blue', namespace: 'n' })).toMatchObject({ remote: { token: 'one' }, namespace: 'n' });
  expect(chosen({ user: 'joe' }).remote.token).toBeUndefined();
});

test('credentials and certificates of flags replace those of the file', () => {
  const { remote } = chosen({
    user: 'joe',
    token: 'mine',
    as: 'eve',
    asGroup: ['a', 'b'],
    asUid: 'u',
    asUserExtra: ['k=1', 'k=2'],
    certificateAuthority: join(folder, 'mine.crt'),
    tlsServerName: 'name',
  });
  expect(remote).toMatchObject({ token: 'mine', tokenFile: undefined, ca: 'mine', serverName: 'name' });
  expect(remote.impersonation).toEqual({
    'Impersonate-User': 'eve',
    'Impersonate-Uid': 'u',
    'Impersonate-Group': ['a', 'b'],
    'Impersonate-Extra-k': ['1', '2'],
  });
  expect(chosen({ insecureSkipTlsVerify: true }).remote).toMatchObject({ ca: undefined, skipVerification: true });
});

test.each<[ConfigFlags, string]>([
  [{ context: 'green' }, 'context "green" does not exist'],
  [{ cluster: 'green' }, 'cluster "green" does not exist'],
  [{ user: 'eve' }, 'auth info "eve" does not exist'],
  [{ kubeconfig: '/nowhere' }, 'the kubeconfig /nowhere does not exist'],
  [{ asGroup: ['x'] }, '--as-group, --as-uid and --as-user-extra need --as'],
  [{ token: 'a', username: 'b' }, '--token and --username exclude each other'],
])('what is missing or contradictory is told: %j', (flags, message) => {
  expect(() => chosen(flags)).toThrow(message);
});

test('a server needs no file', () => {
  const { remote } = targetOf({ server: '127.0.0.1:8001' }, { KUBECONFIG: join(folder, 'absent') });
  expect(remote.url.href).toBe('http://127.0.0.1:8001/');
  expect(() => targetOf({}, { KUBECONFIG: join(folder, 'absent') })).toThrow('there is no configuration');
});
