/** MiB of a semi-space; the young generation has three. Larger ones save no CPU (test/bench/results/v0.1.0.md). */
const SEMI_SPACE = 16;
const FLAG = /--max[-_]semi[-_]space[-_]size/;

type Execve = (file: string, args: readonly string[], env: NodeJS.ProcessEnv) => never;

/**
 * Bounds the young generation of V8, which takes up to 192 MB since Node.js 24, unless the user has chosen a size. V8 accepts the bound only
 * when it starts, so the process starts anew, under its id and with its files.
 */
export function boundYoungGeneration(): void {
  const { execve } = process as { execve?: Execve };
  const { platform, versions, env, argv, execArgv, execPath } = process;
  const given = env['NODE_OPTIONS'] ?? '';
  if (Number.parseInt(versions.node) < 24 || execve === undefined || platform === 'win32') return;
  if (FLAG.test([given, ...execArgv].join(' '))) return;
  const flags = `${given} --max-semi-space-size=${SEMI_SPACE}`.trim();
  execve(execPath, [execPath, ...execArgv, ...argv.slice(1)], { ...env, NODE_OPTIONS: flags });
}
