import { Command, Option } from 'commander';

/** The output of `annex version`; `kubernetesVersion` is the release whose behavior Annex has. */
export interface Versions {
  readonly version: string;
  readonly kubernetesVersion: string;
  readonly nodeVersion: string;
  readonly platform: string;
}

/** `annex version`: prints the versions. */
export function versionCommand(versions: () => Versions): Command {
  return new Command('version')
    .description('Prints the versions of Annex, of the Kubernetes API that it serves, and of Node.js.')
    .addOption(new Option('-o, --output <format>', 'Format.').choices(['text', 'json']).default('text'))
    .helpOption('-h, --help', 'Shows this help.')
    .action(({ output }: { readonly output: 'text' | 'json' }) => {
      const all = versions();
      const { version, kubernetesVersion, nodeVersion, platform } = all;
      const text = `annex ${version} (Kubernetes ${kubernetesVersion}, Node.js ${nodeVersion}, ${platform})`;
      process.stdout.write(`${output === 'json' ? JSON.stringify(all, null, 2) : text}\n`);
    });
}
