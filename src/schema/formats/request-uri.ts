/** Reports whether Go's url.ParseRequestURI accepts the text: an absolute URI, or an absolute path. */
export function isRequestUri(text: string): boolean {
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text)) return false;
  if (text === '*') return true;
  const scheme = schemeOf(text);
  if (scheme === undefined) return false;
  let rest = text.slice(scheme === '' ? 0 : scheme.length + 1);
  const query = rest.indexOf('?');
  if (query >= 0) rest = rest.slice(0, query);
  // A URI with a scheme and no slash is opaque and accepted unchecked.
  if (!rest.startsWith('/')) return scheme !== '';
  if (rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'))) {
    if (scheme === '') return isEscaped(rest);
    const end = rest.indexOf('/', 2);
    const authority = rest.slice(2, end < 0 ? undefined : end);
    if (!isAuthority(authority)) return false;
    rest = end < 0 ? '' : rest.slice(end);
  }
  return isEscaped(rest);
}

/** Returns the scheme before the first colon; empty if there is none, undefined if the text begins with the colon. */
function schemeOf(text: string): string | undefined {
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (/[a-zA-Z]/.test(char)) continue;
    if (/[0-9+.-]/.test(char)) {
      if (i === 0) return '';
      continue;
    }
    if (char === ':') return i === 0 ? undefined : text.slice(0, i);
    return '';
  }
  return '';
}

const isEscaped = (text: string): boolean => !/%(?![0-9a-fA-F]{2})/.test(text);

function isAuthority(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at >= 0) {
    const user = text.slice(0, at);
    if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || !isEscaped(user)) return false;
  }
  const host = text.slice(at + 1);
  if (host.startsWith('[')) return isBracketed(host);
  const colon = host.lastIndexOf(':');
  if (colon >= 0 && !/^\d*$/.test(host.slice(colon + 1))) return false;
  // In a host, only non-ASCII bytes may be escaped, and some ASCII characters are not allowed.
  if (/%(?![89a-fA-F][0-9a-fA-F])/.test(host)) return false;
  return !/[\s"<>\\^`{|}#]/.test(host.replace(/["<>]/g, ''));
}

function isBracketed(host: string): boolean {
  const end = host.lastIndexOf(']');
  if (end < 0 || !/^(:\d*)?$/.test(host.slice(end + 1))) return false;
  const address = host.slice(1, end);
  const zone = address.indexOf('%25');
  return zone < 0 ? isEscaped(address) : isEscaped(address.slice(zone));
}
