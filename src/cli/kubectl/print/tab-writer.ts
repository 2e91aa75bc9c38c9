const MIN_WIDTH = 6;
const PADDING = 3;

const widthOf = (text: string): number => Array.from(text).length;

/** Aligns the cells of lines as kubectl does; the widths of earlier lines are remembered, so that a watch stays in its columns. */
export class TabWriter {
  private readonly widths: number[] = [];

  format(rows: readonly (readonly string[])[]): string {
    for (const row of rows) {
      row.slice(0, -1).forEach((cell, i) => {
        this.widths[i] = Math.max(this.widths[i] ?? MIN_WIDTH, widthOf(cell) + PADDING);
      });
    }
    const line = (row: readonly string[]): string =>
      row.map((cell, i) => (i === row.length - 1 ? cell : cell + this.spaces(i, cell))).join('');
    return rows.map((row) => `${line(row)}\n`).join('');
  }

  private spaces(i: number, cell: string): string {
    return ' '.repeat((this.widths[i] ?? 0) - widthOf(cell));
  }
}
