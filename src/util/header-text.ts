const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** The text of a header: clients send UTF-8, and Node gives the bytes one by one. Those that are no UTF-8 become U+FFFD. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
