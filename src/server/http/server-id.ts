import { createHash } from 'node:crypto';
import { hostname } from 'node:os';

/** The server's identity in metrics. */
export const serverId = (): string => `apiserver-${createHash('sha256').update(hostname()).digest('hex').slice(0, 32)}`;
