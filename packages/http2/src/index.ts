/** The server side of HTTP/2 (RFC 9113) on a socket that is already connected. See the README of this package. */
export { Session } from './session.js';
export type { SessionConfig } from './session.js';
export { Http2Request } from './request.js';
export { Http2Response } from './response.js';
export { errorName } from './frames/frame.js';
export { systemClock } from './clock.js';
export type { Clock, Timer } from './clock.js';
