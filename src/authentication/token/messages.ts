import { quote } from '../../apimachinery/meta/meta.js';

/** A list of texts as messages show it: `["a" "b"]`. */
export const formatMessageList = (items: readonly string[]): string => `[${items.map(quote).join(' ')}]`;
