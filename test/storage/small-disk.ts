import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Mounts a small disk on a folder. Returns undefined, or why that is not possible. */
export function mountSmallDisk(folder: string, mebibytes: number): string | undefined {
  try {
    mkdirSync(folder, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error);
  }
}

export function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder], { stdio: 'pipe' });
}

/** Returns why no small disk can be mounted here, or undefined if one can. */
export function whyNoSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'annex-probe-'));
  const why = mountSmallDisk(folder, 1);
  if (why === undefined) unmount(folder);
  rmSync(folder, { recursive: true });
  return why;
}
