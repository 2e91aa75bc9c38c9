/** The text is not CSV; the message is that of Go's encoding/csv. */
export class CsvError extends Error {
  override readonly name = 'CsvError';
}

/** Parses RFC 4180 records like Go's encoding/csv: empty lines are skipped, quoted fields may span lines. */
export function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  const source = text.replaceAll('\r\n', '\n');
  let at = 0;
  let line = 1;
  while (at < source.length) {
    if (source[at] === '\n') {
      at++;
      line++;
      continue;
    }
    const { record, next, lines } = readRecord(source, at, line);
    records.push(record);
    at = next;
    line += lines;
  }
  return records;
}

function readRecord(source: string, from: number, line: number): { record: string[]; next: number; lines: number } {
  const record: string[] = [];
  let at = from;
  let lines = 0;
  for (;;) {
    const field =
      source[at] === '"' ? readQuoted(source, at, from, line + lines) : readPlain(source, at, from, line + lines);
    record.push(field.value);
    lines += field.lines;
    at = field.next;
    if (source[at] !== ',') break;
    at++;
  }
  return { record, next: at + 1, lines: lines + 1 };
}

interface Field {
  readonly value: string;
  readonly next: number;
  readonly lines: number;
}

function readPlain(source: string, from: number, start: number, line: number): Field {
  let at = from;
  for (; at < source.length && source[at] !== ',' && source[at] !== '\n'; at++) {
    if (source[at] === '"') {
      throw new CsvError(`parse error on line ${line}, column ${at - start + 1}: bare " in non-quoted-field`);
    }
  }
  return { value: source.slice(from, at), next: at, lines: 0 };
}

function readQuoted(source: string, from: number, start: number, line: number): Field {
  let value = '';
  let lines = 0;
  for (let at = from + 1; at < source.length; at++) {
    const char = source.charAt(at);
    if (char === '\n') lines++;
    if (char !== '"') {
      value += char;
      continue;
    }
    const next = source[at + 1];
    if (next === '"') {
      value += '"';
      at++;
    } else if (next === undefined || next === ',' || next === '\n') return { value, next: at + 1, lines };
    else
      throw new CsvError(
        `parse error on line ${line}, column ${at - start + 1}: extraneous or missing " in quoted-field`,
      );
  }
  throw new CsvError(`record on line ${line}: extraneous or missing " in quoted-field`);
}
