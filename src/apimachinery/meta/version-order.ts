const VERSION = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/;
const STAGES: Record<string, number> = { alpha: 0, beta: 1 };

/** Compares versions, the most stable and newest first: v2, v1, v2beta1, v1beta2, v1alpha1, then other names alphabetically. */
export function compareVersions(a: string, b: string): number {
  const x = VERSION.exec(a);
  const y = VERSION.exec(b);
  if (x === null || y === null) return x !== null ? -1 : y !== null ? 1 : a < b ? -1 : a > b ? 1 : 0;
  const stage = (m: RegExpExecArray): number => (m[2] === undefined ? 2 : (STAGES[m[2]] ?? 0));
  return stage(y) - stage(x) || Number(y[1]) - Number(x[1]) || Number(y[3] ?? 0) - Number(x[3] ?? 0);
}
