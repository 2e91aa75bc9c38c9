import { Environment } from './environment.js';
import type { Library } from './library/library.js';
import { AUTHORIZER_LIBRARY, SELECTORS_LIBRARY } from './library/authorizer.js';
import { EXTENDED_LISTS_LIBRARY, INCLUDES_LIBRARY, LISTS_LIBRARY } from './library/lists.js';
import { FORMAT_LIBRARY } from './library/kubernetes/named-formats.js';
import { CIDR_LIBRARY, IP_LIBRARY } from './library/kubernetes/net.js';
import { OPTIONAL_LIBRARY } from './library/optional.js';
import { QUANTITY_LIBRARY } from './library/kubernetes/quantity.js';
import { REGEX_LIBRARY } from './library/regex.js';
import { SEMVER_LIBRARY } from './library/kubernetes/semver.js';
import { SETS_LIBRARY, TWO_VARIABLE_LIBRARY } from './library/extensions.js';
import { STRINGS_LIBRARY } from './library/strings.js';
import { URLS_LIBRARY } from './library/kubernetes/urls.js';
import { WELL_KNOWN_NAMES, wellKnownStruct } from './library/well-known.js';

/** The origin of an expression: new in this request, or stored by an earlier one. */
export type ExpressionOrigin = 'new' | 'stored';

interface VersionedLibrary {
  readonly library: Library;
  /** The minor version of Kubernetes 1.x that introduced the library. */
  readonly since: number;
}

/** The libraries that Kubernetes adds to CEL. */
export const LIBRARIES: readonly VersionedLibrary[] = [
  { library: URLS_LIBRARY, since: 0 },
  { library: REGEX_LIBRARY, since: 0 },
  { library: LISTS_LIBRARY, since: 0 },
  { library: STRINGS_LIBRARY, since: 0 },
  { library: AUTHORIZER_LIBRARY, since: 27 },
  { library: OPTIONAL_LIBRARY, since: 28 },
  { library: QUANTITY_LIBRARY, since: 28 },
  { library: SETS_LIBRARY, since: 29 },
  { library: IP_LIBRARY, since: 30 },
  { library: CIDR_LIBRARY, since: 30 },
  { library: FORMAT_LIBRARY, since: 31 },
  { library: SELECTORS_LIBRARY, since: 31 },
  { library: TWO_VARIABLE_LIBRARY, since: 32 },
  { library: SEMVER_LIBRARY, since: 33 },
  { library: EXTENDED_LISTS_LIBRARY, since: 34 },
  { library: INCLUDES_LIBRARY, since: 37 },
];

/** The emulated minor version. New expressions may use only features of the version before it, so that a downgrade remains possible. */
const CURRENT_MINOR = 37;
const DEFAULT_COMPATIBILITY = CURRENT_MINOR - 1;

const environments = new Map<number, Environment>();

/**
 * The environment for expressions in Kubernetes. New expressions may use the features of `compatibility`, a minor
 * version of Kubernetes 1.x. Stored expressions may use all features, so that they keep working.
 */
export function kubernetesEnvironment(origin: ExpressionOrigin, compatibility = DEFAULT_COMPATIBILITY): Environment {
  const version = origin === 'stored' ? Infinity : compatibility;
  let environment = environments.get(version);
  if (environment === undefined) environments.set(version, (environment = create(version)));
  return environment;
}

function create(version: number): Environment {
  const enabled = LIBRARIES.filter(({ since }) => since <= version);
  return Environment.create({
    libraries: enabled.map(({ library }) => library),
    variables: WELL_KNOWN_NAMES,
    structs: wellKnownStruct,
    homogeneous: true,
    optionalSyntax: version >= 28,
    crossTypeComparisons: version >= 28,
    validateLiterals: version >= 29,
  });
}
