import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, scratchFolder, TestServer } from './server.js';

interface Check {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly hint?: string;
}

describe('annex doctor on a standalone server', () => {
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  const dataDir = join(folder, 'data');

  async function doctor(...args: string[]): Promise<{ readonly code: number | null; readonly checks: Check[] }> {
    const { code, stdout } = await run(['doctor', '-o', 'json', ...args]);
    return { code, checks: JSON.parse(stdout) as Check[] };
  }
  const statuses = (checks: readonly Check[]): Record<string, string> =>
    Object.fromEntries(checks.map(({ name, status }) => [name, status]));

  test('runs before the first start, on a running server, and after its end', async () => {
    const before = await doctor('--data-dir', dataDir);
    expect(before.code).toBe(0);
    expect(statuses(before.checks)).toEqual({
      store: 'ok',
      'configuration files': 'ok',
      certificates: 'ok',
      server: 'skipped',
    });
    server = await TestServer.start(folder);
    const running = await doctor('--data-dir', dataDir);
    expect(running.code).toBe(0);
    expect(statuses(running.checks)).toEqual({
      store: 'skipped',
      'configuration files': 'ok',
      certificates: 'ok',
      server: 'ok',
      readiness: 'ok',
      definitions: 'ok',
    });
    const elsewhere = await doctor('--server-kubeconfig', server.kubeconfig);
    expect(statuses(elsewhere.checks)).toEqual({ server: 'ok', readiness: 'ok', definitions: 'ok' });
    await server.stop();
    const ended = await doctor('--data-dir', dataDir);
    expect(ended.code).toBe(0);
    expect(ended.checks.find(({ name }) => name === 'store')?.message).toMatch(/at revision \d+$/);
    expect(statuses(ended.checks)).toMatchObject({ store: 'ok', server: 'skipped' });
    const gone = await doctor('--server-kubeconfig', server.kubeconfig);
    expect(gone.code).toBe(1);
    expect(gone.checks).toMatchObject([
      { name: 'server', status: 'failed', hint: expect.stringContaining('annex serve') as string },
    ]);
  });

  test('reads the files that the flags name, and checks their contents', async () => {
    const path = join(folder, 'encryption.yaml');
    const args = ['--data-dir', join(folder, 'other'), '--encryption-provider-config', path];
    const check = async (): Promise<Check | undefined> =>
      (await doctor(...args)).checks.find(({ name }) => name === 'configuration files');
    expect(await check()).toMatchObject({ status: 'failed', message: expect.stringMatching(/no such file/) as string });
    writeFileSync(path, 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: []\n');
    expect(await check()).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/^--encryption-provider-config: .*at least one resource/) as string,
      hint: 'correct the file or the flag --encryption-provider-config',
    });
    writeFileSync(
      path,
      'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{identity: {}}]}]\n',
    );
    expect(await check()).toMatchObject({ status: 'ok', message: '--encryption-provider-config' });
  });
});
