import { X509Certificate } from 'node:crypto';
import {
  duplicate,
  type FieldError,
  FieldPath,
  invalid,
  required,
  tooMany,
} from '../../apimachinery/meta/field-error.js';
import { quote } from '../../apimachinery/meta/meta.js';
import { subdomainErrors } from '../../apimachinery/validation/name-errors.js';
import { compileExpression, Expression, type Purpose } from './expressions.js';
import type {
  AuthenticationConfiguration,
  ClaimMappings,
  ClaimValidationRule,
  IssuerConfig,
  JwtAuthenticatorConfig,
  PrefixedMapping,
  UserValidationRule,
} from './types.js';

const MAX_AUTHENTICATORS = 64;
const HTTP_PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;
const EMAIL_RULE =
  'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression';

/** A rule with the message for users who fail it. */
export interface CompiledRule {
  readonly expression: Expression;
  readonly message: string;
}

/** A validated authenticator with its compiled expressions. */
export interface CompiledAuthenticator {
  readonly config: JwtAuthenticatorConfig;
  readonly username: Expression | undefined;
  readonly groups: Expression | undefined;
  readonly uid: Expression | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: Expression }[];
  readonly claimRules: readonly CompiledRule[];
  readonly userRules: readonly CompiledRule[];
}

/** Returns the compiled authenticators and all errors. If there are errors, the authenticators must not be used. */
export function validateAuthenticationConfiguration(
  configuration: AuthenticationConfiguration,
  /** The issuers of service account tokens. */
  disallowedIssuers: readonly string[],
): { readonly authenticators: readonly CompiledAuthenticator[]; readonly errors: readonly FieldError[] } {
  const { jwt, anonymous } = configuration;
  const root = FieldPath.of('jwt');
  if (jwt.length > MAX_AUTHENTICATORS)
    return { authenticators: [], errors: [tooMany(root, jwt.length, MAX_AUTHENTICATORS)] };
  const errors: FieldError[] = [];
  const issuers = new Set<string>();
  const discoveryUrls = new Set<string>();
  const authenticators = jwt.map((config, i) => {
    const path = root.index(i);
    const validation = new Validation(errors, disallowedIssuers);
    const compiled = validation.authenticator(config, path);
    const { url, discoveryURL } = config.issuer;
    if (issuers.has(url)) errors.push(duplicate(path.child('issuer', 'url'), url));
    issuers.add(url);
    if (discoveryURL !== '') {
      if (discoveryUrls.has(discoveryURL)) errors.push(duplicate(path.child('issuer', 'discoveryURL'), discoveryURL));
      discoveryUrls.add(discoveryURL);
    }
    return compiled;
  });
  if (anonymous !== undefined && !anonymous.enabled && anonymous.conditions.length > 0) {
    const conditions = anonymous.conditions.map((path) => ({ Path: path }));
    const why = 'enabled should be set to true when conditions are defined';
    errors.push(invalid(FieldPath.of('anonymous', 'conditions'), conditions, why));
  }
  return { authenticators, errors };
}

/** The base that lets a relative URL be parsed, so that its other mistakes are reported too. */
const RELATIVE_BASE = 'https://base';

class Validation {
  constructor(
    private readonly errors: FieldError[],
    private readonly disallowed: readonly string[],
  ) {}

  authenticator(config: JwtAuthenticatorConfig, path: FieldPath): CompiledAuthenticator {
    this.issuer(config.issuer, path.child('issuer'));
    const claimRules = this.claimRules(config.claimValidationRules, path.child('claimValidationRules'));
    const mappings = this.mappings(config.claimMappings, path.child('claimMappings'), claimRules);
    const userRules = this.userRules(config.userValidationRules, path.child('userValidationRules'));
    return { config, ...mappings, claimRules, userRules };
  }

  private issuer(issuer: IssuerConfig, path: FieldPath): void {
    const { url, discoveryURL, audiences, audienceMatchPolicy, certificateAuthority, egressSelectorType } = issuer;
    if (url === '') this.errors.push(required(path.child('url')));
    else this.url(url, this.disallowed, path.child('url'));
    if (discoveryURL !== '') {
      if (url !== '' && url.replace(/\/+$/, '') === discoveryURL.replace(/\/+$/, '')) {
        this.errors.push(invalid(path.child('discoveryURL'), discoveryURL, 'discoveryURL must be different from URL'));
      }
      this.url(discoveryURL, [], path.child('discoveryURL'));
    }
    this.audiences(audiences, audienceMatchPolicy, path);
    const problem = certificateAuthority === '' ? undefined : pemProblem(certificateAuthority);
    if (problem !== undefined) this.errors.push(invalid(path.child('certificateAuthority'), '<omitted>', problem));
    if (egressSelectorType !== '') {
      const why = 'egress selectors are not supported';
      this.errors.push(invalid(path.child('egressSelectorType'), egressSelectorType, why));
    }
  }

  private url(text: string, disallowed: readonly string[], path: FieldPath): void {
    const add = (why: string): void => {
      this.errors.push(invalid(path, text, why));
    };
    if (disallowed.includes(text)) {
      add(`URL must not overlap with disallowed issuers: [${[...disallowed].sort().join(' ')}]`);
    }
    const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1]?.toLowerCase();
    const url = URL.canParse(text, RELATIVE_BASE) ? new URL(text, RELATIVE_BASE) : undefined;
    if (url === undefined && scheme === 'https') add(`parse ${quote(text)}: invalid URL`);
    if (scheme !== 'https') add('URL scheme must be https');
    if (url === undefined) return;
    if (url.username !== '' || url.password !== '') add('URL must not contain a username or password');
    if (url.search !== '') add('URL must not contain a query');
    if (url.hash !== '') add('URL must not contain a fragment');
  }

  private audiences(audiences: readonly string[], policy: string, issuer: FieldPath): void {
    const path = issuer.child('audiences');
    if (audiences.length === 0) {
      this.errors.push(required(path, `at least one ${path.toString()} is required`));
      return;
    }
    const seen = new Set<string>();
    audiences.forEach((audience, i) => {
      if (audience === '') this.errors.push(required(path.index(i)));
      if (seen.has(audience)) this.errors.push(duplicate(path.index(i), audience));
      seen.add(audience);
    });
    const where = issuer.child('audienceMatchPolicy');
    if (audiences.length > 1 && policy !== 'MatchAny') {
      this.errors.push(invalid(where, policy, 'audienceMatchPolicy must be MatchAny for multiple audiences'));
    }
    if (audiences.length === 1 && policy !== '' && policy !== 'MatchAny') {
      const why = 'audienceMatchPolicy must be empty or MatchAny for single audience';
      this.errors.push(invalid(where, policy, why));
    }
  }

  private compile(
    source: string,
    variable: 'claims' | 'user',
    purpose: Purpose,
    path: FieldPath,
  ): Expression | undefined {
    const compiled = compileExpression(source, variable, purpose);
    if (compiled instanceof Expression) return compiled;
    this.errors.push(invalid(path, source, compiled));
    return undefined;
  }

  private claimRules(rules: readonly ClaimValidationRule[], path: FieldPath): CompiledRule[] {
    const claims = new Set<string>();
    const expressions = new Set<string>();
    return rules.flatMap(({ claim, requiredValue, expression, message }, i) => {
      const at = path.index(i);
      if (claim !== '' && expression !== '') {
        this.errors.push(invalid(at, claim, "claim and expression can't both be set"));
        return [];
      }
      if (claim === '' && expression === '') {
        this.errors.push(required(at, 'claim or expression is required'));
        return [];
      }
      if (claim !== '') {
        if (message !== '')
          this.errors.push(invalid(at.child('message'), message, 'may not be specified when claim is set'));
        if (claims.has(claim)) this.errors.push(duplicate(at.child('claim'), claim));
        claims.add(claim);
        return [];
      }
      if (requiredValue !== '') {
        const why = 'may not be specified when expression is set';
        this.errors.push(invalid(at.child('requiredValue'), requiredValue, why));
      }
      return this.rule(expression, message, 'claims', expressions, at.child('expression'));
    });
  }

  private userRules(rules: readonly UserValidationRule[], path: FieldPath): CompiledRule[] {
    const seen = new Set<string>();
    return rules.flatMap(({ expression, message }, i) => {
      const at = path.index(i).child('expression');
      if (expression !== '') return this.rule(expression, message, 'user', seen, at);
      this.errors.push(required(at));
      return [];
    });
  }

  private rule(
    source: string,
    message: string,
    variable: 'claims' | 'user',
    seen: Set<string>,
    path: FieldPath,
  ): CompiledRule[] {
    if (seen.has(source)) {
      this.errors.push(duplicate(path, source));
      return [];
    }
    seen.add(source);
    const expression = this.compile(source, variable, 'rule', path);
    return expression === undefined ? [] : [{ expression, message }];
  }

  private mappings(
    mappings: ClaimMappings,
    path: FieldPath,
    rules: readonly CompiledRule[],
  ): Pick<CompiledAuthenticator, 'username' | 'groups' | 'uid' | 'extra'> {
    const username = this.prefixed(mappings.username, path.child('username'), 'required');
    const groups = this.prefixed(mappings.groups, path.child('groups'), 'optional');
    const { uid } = mappings;
    if (uid.claim !== '' && uid.expression !== '') {
      this.errors.push(invalid(path.child('uid'), '', "claim and expression can't both be set"));
    }
    const uidExpression =
      uid.expression === '' || uid.claim !== ''
        ? undefined
        : this.compile(uid.expression, 'claims', 'mapping', path.child('uid', 'expression'));
    const extra = this.extra(mappings.extra, path.child('extra'));
    const verifiers = [username, ...extra.map((item) => item.expression), ...rules.map((rule) => rule.expression)];
    const verified = verifiers.some((expression) => expression?.selectsClaim('email_verified') === true);
    if (username?.selectsClaim('email') === true && !verified) {
      this.errors.push(invalid(path.child('username', 'expression'), username.source, EMAIL_RULE));
    }
    return { username, groups, uid: uidExpression, extra };
  }

  private prefixed(
    { claim, prefix, expression }: PrefixedMapping,
    path: FieldPath,
    presence: 'required' | 'optional',
  ): Expression | undefined {
    if (claim !== '' && expression !== '') {
      this.errors.push(invalid(path, '', "claim and expression can't both be set"));
      return undefined;
    }
    if (expression !== '') {
      if (prefix !== undefined) {
        this.errors.push(invalid(path.child('prefix'), prefix, 'may not be specified when expression is set'));
      }
      return this.compile(expression, 'claims', 'mapping', path.child('expression'));
    }
    if (claim === '') {
      if (presence === 'required') this.errors.push(required(path, 'claim or expression is required'));
    } else if (prefix === undefined) {
      const why = 'prefix is required when claim is set. It can be set to an empty string to disable prefixing';
      this.errors.push(required(path.child('prefix'), why));
    }
    return undefined;
  }

  private extra(mappings: ClaimMappings['extra'], path: FieldPath): { key: string; expression: Expression }[] {
    const seen = new Set<string>();
    return mappings.flatMap(({ key, valueExpression }, i) => {
      const at = path.index(i);
      this.extraKey(key, at.child('key'));
      if (seen.has(key)) {
        this.errors.push(duplicate(at.child('key'), key));
        return [];
      }
      seen.add(key);
      if (valueExpression === '') {
        this.errors.push(required(at.child('valueExpression')));
        return [];
      }
      const expression = this.compile(valueExpression, 'claims', 'mapping', at.child('valueExpression'));
      return expression === undefined ? [] : [{ key, expression }];
    });
  }

  private extraKey(key: string, path: FieldPath): void {
    const slash = key.indexOf('/');
    const host = slash < 0 ? '' : key.slice(0, slash);
    const rest = slash < 0 ? '' : key.slice(slash + 1);
    if (key === '') this.errors.push(required(path));
    else if (host === '' || rest === '') {
      this.errors.push(invalid(path, key, 'must be a domain-prefixed path (such as "acme.io/foo")'));
    } else {
      this.errors.push(...subdomainErrors(host, path));
      if (!HTTP_PATH.test(rest)) {
        const why = `Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')`;
        this.errors.push(invalid(path, rest, why));
      }
    }
    if (key !== key.toLowerCase()) this.errors.push(invalid(path, key, 'must be lowercase'));
    if (/(^|\.)(kubernetes|k8s)\.io$/.test(host)) {
      const why = 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use';
      this.errors.push(invalid(path, key, why));
    }
  }
}

function pemProblem(pem: string): string | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'data does not contain any valid RSA or ECDSA certificates';
  try {
    for (const block of blocks) new X509Certificate(block);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'not a certificate';
  }
}
