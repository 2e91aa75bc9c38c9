// A real OpenID provider over TLS. argv[2]: JSON with `key` and `certificate` (PEM), `keys` (private JWKs), `people` (claims by
// log-in name). Prints its address when it listens. A line of JSON on standard input takes the place of its keys.
import { createServer } from 'node:https';
import { createInterface } from 'node:readline';
import Provider from 'oidc-provider';

const { key, certificate, keys, people } = JSON.parse(process.argv[2]);
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const client = (client_id, id_token_signed_response_alg) => ({
  client_id,
  id_token_signed_response_alg,
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: [DEVICE, 'refresh_token'],
  response_types: [],
  redirect_uris: [],
});

const server = createServer({ key, cert: certificate }, (request, response) => answer(request, response));
let answer;

function serve(issuer, jwks) {
  const provider = new Provider(issuer, {
    jwks: { keys: jwks },
    clients: [client('kubectl', 'RS256'), client('kubectl-ec', 'ES256'), client('somebody-else', 'RS256')],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'offline_access', 'email', 'groups'],
    conformIdTokenClaims: false,
    cookies: { keys: ['test'] },
    features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
    findAccount: (_context, id) =>
      people[id] === undefined ? undefined : { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
    issueRefreshToken: (_context, _client, code) => code.scopes.has('offline_access'),
    rotateRefreshToken: true,
    ttl: {
      AccessToken: 600,
      DeviceCode: 600,
      Grant: 3600,
      IdToken: 3600,
      Interaction: 600,
      RefreshToken: 3600,
      Session: 3600,
    },
  });
  answer = provider.callback();
}

server.listen(0, '127.0.0.1', () => {
  const issuer = `https://127.0.0.1:${server.address().port}`;
  serve(issuer, keys);
  createInterface({ input: process.stdin }).on('line', (line) => {
    serve(issuer, JSON.parse(line));
    process.stdout.write('keys replaced\n');
  });
  process.stdout.write(`${issuer}\n`);
});
process.stdin.on('end', () => process.exit(0));
