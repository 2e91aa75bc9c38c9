import { decodeJwt } from 'jose';
import { makeCertificateRequest } from '../fakes/pki/certificate-request.js';
import { describeKubectl, rows } from './kubectl.js';

describeKubectl('ktl-access', (kubectl, ns) => {
  describe('auth', () => {
    test('whoami as another user', async () => {
      const as = ['--as', 'jane', '--as-group', 'devs', '--as-group', 'ops', '--as-uid', '7'];
      expect(rows(await kubectl().ok(['auth', 'whoami', ...as]))).toEqual([
        ['ATTRIBUTE', 'VALUE'],
        ['Username', 'jane'],
        ['UID', '7'],
        ['Groups', '[devs ops system:authenticated]'],
      ]);
    });

    test('impersonation without permission', async () => {
      await kubectl().ok(['create', 'serviceaccount', 'weak', '-n', ns]);
      const token = (await kubectl().ok(['create', 'token', 'weak', '-n', ns])).trim();
      // A token counts only without a client certificate.
      const server = (
        await kubectl().ok(['config', 'view', '--minify', '-o', 'jsonpath={.clusters[0].cluster.server}'])
      ).trim();
      const bare = ['--kubeconfig', '/dev/null', '--server', server, '--insecure-skip-tls-verify', '--token', token];
      const robot = `system:serviceaccount:${ns}:weak`;
      expect(await kubectl().ok(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}', ...bare])).toBe(robot);
      // kubectl requests the groups first and does not show the reason of the refusal.
      expect(await kubectl().fails(['get', 'pods', '-n', ns, '--as', 'jane', ...bare])).toMatch(
        /^Error from server \(Forbidden\): /m,
      );
      expect(await kubectl().fails(['get', 'secrets', '-n', ns, ...bare])).toBe(
        `Error from server (Forbidden): secrets is forbidden: User "${robot}" cannot list resource "secrets" in API group "" in the namespace "${ns}"\n`,
      );
    });

    test('can-i --list shows the permissions from roles', async () => {
      const list = async (): Promise<string[][]> =>
        rows(await kubectl().ok(['auth', 'can-i', '--list', '-n', ns, '--as', 'joe']));
      expect(await list()).toEqual(
        expect.arrayContaining([
          ['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs'],
          ['selfsubjectaccessreviews.authorization.k8s.io', '[]', '[]', '[create]'],
          ['[/livez]', '[]', '[get]'],
        ]),
      );
      await kubectl().ok([
        'create',
        'role',
        'reader',
        '-n',
        ns,
        '--verb=get,list',
        '--resource=configmaps',
        '--resource-name=a',
      ]);
      await kubectl().ok(['create', 'rolebinding', 'reader', '-n', ns, '--role=reader', '--user=joe']);
      expect(await list()).toContainEqual(['configmaps', '[]', '[a]', '[get list]']);
      expect(await kubectl().ok(['auth', 'can-i', 'get', 'configmaps/a', '-n', ns, '--as', 'joe'])).toBe('yes\n');
      expect((await kubectl().run(['auth', 'can-i', 'get', 'configmaps/b', '-n', ns, '--as', 'joe'])).stdout).toBe(
        'no\n',
      );
      expect(await kubectl().ok(['auth', 'can-i', 'get', '/livez', '--as', 'joe'])).toBe('yes\n');
    });

    test('reconcile', async () => {
      const documents = (verb: string, user: string): string =>
        [
          { kind: 'Role', rules: [{ apiGroups: [''], resources: ['pods'], verbs: [verb] }] },
          {
            kind: 'RoleBinding',
            subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
            roleRef: { kind: 'Role', name: 'kept', apiGroup: 'rbac.authorization.k8s.io' },
          },
        ]
          .map((more) => ({
            apiVersion: 'rbac.authorization.k8s.io/v1',
            metadata: { name: 'kept', namespace: ns },
            ...more,
          }))
          .map((document) => JSON.stringify(document))
          .join('\n');
      const reconcile = async (verb: string, user: string, ...flags: string[]): Promise<string> => {
        const { code, stdout, stderr } = await kubectl().run(['auth', 'reconcile', '-f', '-', ...flags], {
          stdin: documents(verb, user),
        });
        expect([code, stdout]).toEqual([
          0,
          'role.rbac.authorization.k8s.io/kept reconciled\nrolebinding.rbac.authorization.k8s.io/kept reconciled\n',
        ]);
        return stderr;
      };
      const verbs = (): Promise<string> =>
        kubectl().ok(['get', 'role', 'kept', '-n', ns, '-o', 'jsonpath={.rules[*].verbs[*]}']);
      const users = (): Promise<string> =>
        kubectl().ok(['get', 'rolebinding', 'kept', '-n', ns, '-o', 'jsonpath={.subjects[*].name}']);

      expect(await reconcile('get', 'jane')).toMatch(/reconciliation required create\n\tmissing rules added:/);
      expect(await reconcile('get', 'jane')).toBe('');
      expect(await reconcile('list', 'joe')).toMatch(/reconciliation required update\n\tmissing rules added:/);
      expect([await verbs(), await users()]).toEqual(['get list', 'jane joe']);
      const removed = await reconcile('list', 'joe', '--remove-extra-permissions', '--remove-extra-subjects');
      expect(removed).toMatch(/extra rules removed:[^]*extra subjects removed:/);
      expect([await verbs(), await users()]).toEqual(['list', 'joe']);
    });
  });

  test('create token', async () => {
    await kubectl().ok(['create', 'serviceaccount', 'robot', '-n', ns]);
    await kubectl().ok(['create', 'secret', 'generic', 'anchor', '-n', ns]);
    const make = ['create', 'token', 'robot', '-n', ns, '--audience', 'vault', '--duration', '20m'];
    const claims = decodeJwt(
      (await kubectl().ok([...make, '--bound-object-kind=Secret', '--bound-object-name=anchor'])).trim(),
    );
    expect(claims).toMatchObject({
      sub: `system:serviceaccount:${ns}:robot`,
      aud: ['vault'],
      'kubernetes.io': { namespace: ns, serviceaccount: { name: 'robot' }, secret: { name: 'anchor' } },
    });
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(1200);
    expect(await kubectl().ok([...make, '-o', 'jsonpath={.kind} {.spec.expirationSeconds}'])).toBe('TokenRequest 1200');
    expect(await kubectl().fails(['create', 'token', 'nobody', '-n', ns])).toBe(
      'error: failed to create token: serviceaccounts "nobody" not found\n',
    );
    expect(await kubectl().fails([...make.slice(0, -1), '1m'])).toContain(
      'error: failed to create token: TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes',
    );
  });

  test('certificate approve and deny', async () => {
    const request = (name: string): string =>
      JSON.stringify({
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name: `${ns}-${name}` },
        spec: {
          request: Buffer.from(makeCertificateRequest({ commonName: 'jane', organizations: ['devs'] })).toString(
            'base64',
          ),
          signerName: 'example.com/nobody',
          usages: ['client auth'],
        },
      });
    await kubectl().run(['delete', 'csr', `${ns}-yes`, `${ns}-no`, '--ignore-not-found']);
    await kubectl().ok(['create', '-f', '-'], { stdin: `${request('yes')}\n${request('no')}` });
    const conditions = async (name: string): Promise<string[]> =>
      rows(await kubectl().ok(['get', 'csr', `${ns}-${name}`, '--no-headers']))[0]?.slice(-1) ?? [];
    expect(await conditions('yes')).toEqual(['Pending']);
    expect(await kubectl().ok(['certificate', 'approve', `${ns}-yes`])).toBe(
      `certificatesigningrequest.certificates.k8s.io/${ns}-yes approved\n`,
    );
    expect(await kubectl().ok(['certificate', 'deny', `${ns}-no`])).toBe(
      `certificatesigningrequest.certificates.k8s.io/${ns}-no denied\n`,
    );
    expect([await conditions('yes'), await conditions('no')]).toEqual([['Approved'], ['Denied']]);
    expect(await kubectl().ok(['get', 'csr', `${ns}-yes`, '-o', 'jsonpath={.status.conditions[0].reason}'])).toBe(
      'KubectlApprove',
    );
    // A decision is final.
    expect(await kubectl().fails(['certificate', 'approve', `${ns}-no`])).toBe(
      `error: certificate signing request "${ns}-no" is already Denied\n`,
    );
    await kubectl().ok(['delete', 'csr', `${ns}-yes`, `${ns}-no`]);
  });
});
