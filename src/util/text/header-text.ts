import { textOfBytes } from './utf8.js';

const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** Decodes the value of a header: clients send UTF-8, but Node returns one character per byte. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? textOfBytes(Buffer.from(value, 'latin1')) : value;
