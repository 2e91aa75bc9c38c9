import { quote } from '../meta/meta.js';

/** Returns why Go's url.Parse rejects the text, or undefined. */
export function urlFault(url: string): string | undefined {
  if (/[\u0000-\u001f\u007f]/.test(url)) return 'net/url: invalid control character in URL';
  if (url.startsWith(':')) return 'missing protocol scheme';
  const authority = /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/([^/?#]*)/.exec(url)?.[1] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host.startsWith('[') && !host.includes(']')) return "missing ']' in host";
  const port = /:([^:\]]*)$/.exec(host)?.[1];
  if (port !== undefined && !/^\d*$/.test(port)) return `invalid port ${quote(`:${port}`)} after host`;
  if (host.includes(' ')) return 'invalid character " " in host name';
  const escape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(url);
  return escape === null ? undefined : `invalid URL escape ${quote(escape[0])}`;
}
