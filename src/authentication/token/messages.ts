import { quote } from '../../apimachinery/meta/meta.js';

/** Formats a list of strings for messages: `["a" "b"]`. */
export const formatMessageList = (items: readonly string[]): string => `[${items.map(quote).join(' ')}]`;
