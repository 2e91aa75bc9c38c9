import { percentDecoded } from '../../../util/text/percent-decoded.js';

/** Options of a connection string that are secrets. */
const SECRET_OPTION = /[?&](?:tlsCertificateKeyFilePassword|proxyPassword)=([^&]*)|AWS_SESSION_TOKEN:([^,&]*)/gi;

/** Returns an error message on one line, without the credentials of a URI. */
export function redact(message: string, uri: string): string {
  let text = message.replaceAll(/\s*\n\s*/g, ' ');
  for (const secret of secretsOf(uri)) text = text.replaceAll(secret, '***');
  return text;
}

function secretsOf(uri: string): readonly string[] {
  const secrets: string[] = [];
  // Each @ may end the credentials: a password that is not escaped has others, and so may the options.
  const rest = uri.replace(/^\s*[a-z+]*:?\/*/i, '');
  for (let at = rest.indexOf('@'); at >= 0; at = rest.indexOf('@', at + 1)) {
    const credentials = rest.slice(0, at);
    const password = credentials.slice(credentials.indexOf(':') + 1);
    secrets.push(credentials, password, percentDecoded(password));
  }
  for (const [, option = '', token = ''] of uri.matchAll(SECRET_OPTION)) {
    for (const secret of [option, token]) secrets.push(secret, percentDecoded(secret));
  }
  // The longest first: a part of it may be another.
  return secrets.filter((secret) => secret !== '').sort((a, b) => b.length - a.length);
}
