import { readFileSync } from 'node:fs';

/** The options of the doctor itself; all others describe the server. */
const OWN = /^(-o|--output|--server-kubeconfig|--verify-store|-h|--help)(=.*)?$/;

/**
 * Returns the arguments of the doctor, given those on its command line. Without a flag that describes the server, it takes the flags of the
 * server that is the first process of the container, as in `kubectl exec deployment/annex -- annex doctor`.
 */
export function withFlagsBeside(
  given: readonly string[],
  cmdline: () => string = () => readFileSync('/proc/1/cmdline', 'utf8'),
): readonly string[] {
  const describes = given.some((arg, i) => arg.startsWith('-') && !OWN.test(arg) && !isValue(given, i));
  if (describes || process.pid === 1) return given;
  let beside: string[];
  try {
    beside = cmdline().split('\0').slice(0, -1);
  } catch {
    return given;
  }
  const serve = beside.indexOf('serve');
  // The program, or node and the program, with options of node.
  const program = beside.slice(0, Math.max(serve, 0)).filter((arg) => !arg.startsWith('-'));
  const isAnnex =
    program.length > 0 && program.every((arg) => /(^|\/)(node|annex|annex\.[cm]?js|main\.[cm]?js)$/.test(arg));
  return isAnnex ? [...beside.slice(serve + 1), ...given] : given;
}

/** Reports whether an argument is the value of the option before it. */
const isValue = (args: readonly string[], i: number): boolean =>
  /^(-o|--output|--server-kubeconfig)$/.test(args[i - 1] ?? '');
