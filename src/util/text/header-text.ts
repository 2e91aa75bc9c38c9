import { textOfBytes } from './utf8.js';

const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** The text of a header: clients send UTF-8, and Node gives the bytes one by one. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? textOfBytes(Buffer.from(value, 'latin1')) : value;
