import { loadWebhookUsers } from './webhook-users.js';
import { webhookRemote, webhookTarget } from './client-config.js';

const nowhere = (): Promise<never> => Promise.reject(new Error('not to be resolved'));

const files: Readonly<Record<string, string>> = {
  '/etc/hooks.conf': JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    users: [
      { name: 'hook.ns.svc', user: { token: 'exact' } },
      { name: '*.ns.svc:8443', user: { username: 'u', password: 'p' } },
      { name: '*.example.com', user: { 'client-certificate': 'cert.pem', 'client-key-data': 'a2V5' } },
      { name: 'other', user: { token: 'fallback' } },
    ],
    contexts: [{ name: 'c', context: { cluster: 'x', user: 'other' } }],
    'current-context': 'c',
  }),
  '/etc/cert.pem': 'certificate',
};
const readFile = (path: string): Promise<string> => Promise.resolve(files[path] ?? '');

test.each([
  [{ service: { name: 'hook', namespace: 'ns' } }, 'hook.ns.svc:443', { token: 'exact' }],
  [
    { service: { name: 'hook', namespace: 'ns', port: 8443 } },
    'hook.ns.svc:8443',
    { basic: { username: 'u', password: 'p' } },
  ],
  [{ url: 'https://a.b.example.com/x' }, 'a.b.example.com:443', { certificate: 'certificate', key: 'key' }],
  [{ url: 'https://127.0.0.1:9/x' }, '127.0.0.1:9', { token: 'fallback' }],
])('the user for %j', async (config, target, user) => {
  const users = await loadWebhookUsers('/etc/hooks.conf', readFile);
  expect(webhookTarget(config)).toBe(target);
  expect(users(target)).toMatchObject(user);
});

test('the user * applies to every webhook, and without users calls have no credentials', async () => {
  const config = (more: object): string => JSON.stringify({ kind: 'Config', apiVersion: 'v1', ...more });
  const all = await loadWebhookUsers('/x', () =>
    Promise.resolve(config({ users: [{ name: '*', user: { token: 'all' } }] })),
  );
  expect(all('a:1')).toMatchObject({ token: 'all' });
  const none = await loadWebhookUsers('/x', () => Promise.resolve(config({})));
  expect(none('a:1')).toBeUndefined();
});

test.each([
  [{ url: 'https://h/a/b/' }, 'https://h/a/b?timeout=3s'],
  [{ url: 'https://h:8443' }, 'https://h:8443/?timeout=3s'],
  [{ service: { name: 's', namespace: 'n', path: '/p' } }, 'https://s.n.svc/p?timeout=3s'],
  [{ service: { name: 's', namespace: 'n', port: 99 } }, 'https://s.n.svc:99/?timeout=3s'],
])('the URL of %j', (config, url) => {
  expect(webhookRemote(config, nowhere, 3).url.href).toBe(url);
});
