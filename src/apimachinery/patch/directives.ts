/** Members of a strategic merge patch that direct how the others are merged. */
export const DIRECTIVE = '$patch';
export const RETAIN_KEYS = '$retainKeys';
export const DELETE_PREFIX = '$deleteFromPrimitiveList';
export const ORDER_PREFIX = '$setElementOrder';
