/** Members of a strategic merge patch that say what to do with the others. */
export const DIRECTIVE = '$patch';
export const RETAIN_KEYS = '$retainKeys';
export const DELETE_PREFIX = '$deleteFromPrimitiveList';
export const ORDER_PREFIX = '$setElementOrder';
