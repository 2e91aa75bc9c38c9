import { doctorCommand, normalizeArguments } from '../server/options/command-line.js';
import type { Options } from '../server/options/options.js';

describe('annex doctor', () => {
  async function run(...args: string[]): Promise<Options | undefined> {
    let seen: Options | undefined;
    const command = doctorCommand((options) => {
      seen = options;
      return Promise.resolve();
    });
    command.exitOverride().configureOutput({ outputError: () => undefined });
    await command.parseAsync(normalizeArguments(args), { from: 'user' });
    return seen;
  }

  test('takes the flags of annex serve', async () => {
    const options = await run('--kubeconfig=/k', '--service-name=annex', '--service-port', '6480', '--anonymous-auth');
    expect(options).toMatchObject({ kubeconfig: '/k', serviceName: 'annex', servicePort: 6480, anonymousAuth: true });
  });

  test.each([
    ['text', []],
    ['json', ['-o', 'json']],
    ['json', ['--output=json']],
  ])('prints findings as %s with %j', async (wanted, args) => {
    let seen: string | undefined;
    const command = doctorCommand((_, { output }) => {
      seen = output;
      return Promise.resolve();
    });
    await command.parseAsync(normalizeArguments(['--service-name=a', ...args]), { from: 'user' });
    expect(seen).toBe(wanted);
  });

  test.each([
    ['both modes', ['--service-name=a', '--server-kubeconfig=/k'], '--server-kubeconfig is for standalone servers'],
    ['a flag that does not exist', ['--service-name=a', '--nonsense'], "unknown option '--nonsense'"],
    ['half a certificate', ['--service-name=a', '--tls-cert-file=/c'], 'must be given together'],
  ])('refuses %s', async (_, args, message) => {
    await expect(run(...args)).rejects.toThrow(message);
  });
});
