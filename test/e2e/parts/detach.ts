import { eventually, MAIN } from '../../integration/server.js';
import { pause } from '../../storage/mongod.js';
import { NAMESPACE, run, type TestCluster } from '../cluster.js';
import { condition, GROUP, widgetsPath, widgetText } from '../widgets.js';

/** Operators take an Annex that is away out of the cluster, and put it back. */
export function detaching(cluster: TestCluster, say: (line: string) => void): void {
  const annex = (...args: string[]): Promise<string> =>
    run(process.execPath, [MAIN, ...args, '--kubeconfig', cluster.adminConfig, '--namespace', NAMESPACE], {});
  const registered = async (): Promise<string[]> => {
    const names = await cluster.kubectl.ok([
      'get',
      'apiservices',
      '-l',
      'app.kubernetes.io/managed-by=annex',
      '-o',
      'name',
    ]);
    return names
      .split('\n')
      .filter((name) => name !== '')
      .sort();
  };
  const path = widgetsPath('detached');

  describe('detach and attach', () => {
    test('while all replicas hang, namespaces are deleted again, and everything is put back', async () => {
      await cluster.kubectl.ok(['create', 'namespace', 'detached']);
      expect((await cluster.http.post(path, widgetText('kept', { colour: 'red' }))).status).toBe(201);
      const before = await registered();
      for (const { daemon } of cluster.replicas) daemon.signal('SIGSTOP');
      try {
        await cluster.kubectl.ok(['create', 'namespace', 'waits']);
        await cluster.kubectl.ok(['delete', 'namespace', 'waits', '--wait=false']);
        const said = await annex('detach');
        say(said.trim());
        expect(await registered()).toEqual([]);
        const begun = performance.now();
        await cluster.kubectl.ok(['wait', 'namespace/waits', '--for=delete', '--timeout=120s']);
        say(`the namespace is gone ${Math.round(performance.now() - begun)} ms after detach`);
        expect((await cluster.http.get(path)).status).toBe(404);
      } finally {
        for (const { daemon } of cluster.replicas) daemon.signal('SIGCONT');
      }
      // Replicas that run again register nothing.
      await cluster.replicasReady(2);
      await pause(5_000);
      expect(await registered()).toEqual([]);
      await annex('attach');
      expect(await registered()).toEqual(before);
      await cluster.kubectl.ok(['wait', `apiservice/v1.${GROUP}`, '--for=condition=Available', '--timeout=60s']);
      await eventually('the object is there', async () =>
        (await cluster.http.get(widgetsPath('detached', 'kept'))).status === 200 ? true : undefined,
      );
    });

    test('replicas that run do not register again what detach takes away', async () => {
      const before = await registered();
      await annex('detach');
      expect(await registered()).toEqual([]);
      await annex('attach');
      expect(await registered()).toEqual(before);
      await cluster.kubectl.ok(['wait', `apiservice/v1.${GROUP}`, '--for=condition=Available', '--timeout=60s']);
      await condition(cluster, `resourcedefinition/widgets.${GROUP}`, 'Registered', ({ status }) => status === 'True');
    });
  });
}
