import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator/interfaces.js';
import { CsvError, parseCsv } from '../../util/csv.js';

interface Entry {
  readonly digest: Buffer;
  readonly response: AuthenticationResponse;
}

/** Users by tokens from a table. Tokens are kept and compared as salted digests, so that how long a look-up takes tells nothing. */
export class TokenFileAuthenticator implements TokenAuthenticator {
  private readonly salt = randomBytes(16).toString('latin1');
  private readonly byDigest = new Map<string, Entry>();

  /**
   * `text` is CSV: token, user name, uid and, quoted where there are several, groups. Throws an Error that names `path` where it
   * is not. `warn` hears of what is skipped.
   */
  constructor(text: string, path: string, warn: (message: string) => void) {
    const records = readRecords(text, path);
    records.forEach((record, i) => {
      const [token = '', name = '', uid = '', groups] = record;
      if (record.length < 3) {
        throw new Error(
          `token file '${path}' must have at least 3 columns (token, user name, user uid), found ${record.length}`,
        );
      }
      if (token === '') {
        warn(`empty token has been found in token file '${path}', record number '${i + 1}'`);
        return;
      }
      const digest = this.digest(token);
      const key = digest.toString('latin1');
      if (this.byDigest.has(key)) {
        warn(`duplicate token has been found in token file '${path}', record number '${i + 1}'`);
      }
      const user = { name, uid, groups: groups === undefined ? [] : groups.split(','), extra: {} };
      this.byDigest.set(key, { digest, response: { user } });
    });
  }

  authenticateToken(token: string): AuthenticationResponse | undefined {
    const digest = this.digest(token);
    const entry = this.byDigest.get(digest.toString('latin1'));
    return entry !== undefined && timingSafeEqual(entry.digest, digest) ? entry.response : undefined;
  }

  private digest(token: string): Buffer {
    return hash('sha256', this.salt + token, 'buffer');
  }
}

function readRecords(text: string, path: string): string[][] {
  try {
    return parseCsv(text);
  } catch (error) {
    if (error instanceof CsvError) throw new Error(`token file '${path}': ${error.message}`);
    throw error;
  }
}
