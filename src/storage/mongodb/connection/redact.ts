import { percentDecoded } from '../../../util/text/percent-decoded.js';

/** Options of a connection string that are secrets. */
const SECRET_OPTION = /[?&](?:tlsCertificateKeyFilePassword|proxyPassword)=([^&]*)|AWS_SESSION_TOKEN:([^,&]*)/gi;

/** Returns an error message on one line, without the credentials of a URI. */
export function redact(message: string, uri: string): string {
  let text = message.replaceAll(/\s*\n\s*/g, ' ');
  for (const secret of secretsOf(uri)) text = text.replaceAll(secret, '***');
  return text;
}

function secretsOf(uri: string): Set<string> {
  const credentials = /^[a-z+]+:\/\/(.*)@/.exec(uri)?.[1] ?? '';
  const password = credentials.slice(credentials.indexOf(':') + 1);
  const secrets = [credentials, password, percentDecoded(password)];
  for (const [, option = '', token = ''] of uri.matchAll(SECRET_OPTION)) {
    for (const secret of [option, token]) secrets.push(secret, percentDecoded(secret));
  }
  return new Set(secrets.filter((secret) => secret !== ''));
}
