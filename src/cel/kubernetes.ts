import { Environment, type Library } from './environment.js';
import { OPTIONAL_LIBRARY } from './library/optional.js';
import { TWO_VARIABLE_LIBRARY } from './library/two-variable.js';

/** Whether an expression is being written now or was accepted before. */
export type ExpressionOrigin = 'new' | 'stored';

interface VersionedLibrary {
  readonly library: Library;
  /** The minor version of Kubernetes 1 that brought it. */
  readonly since: number;
  /** The version that replaced it. */
  readonly until?: number;
}

const LIBRARIES: readonly VersionedLibrary[] = [
  { library: OPTIONAL_LIBRARY, since: 28 },
  { library: TWO_VARIABLE_LIBRARY, since: 32 },
];

/** The version whose API this is; new expressions may use what the version before it had, so that it can be gone back to. */
const CURRENT_MINOR = 36;
export const DEFAULT_COMPATIBILITY = CURRENT_MINOR - 1;

const environments = new Map<string, Environment>();

/**
 * The environment of Kubernetes' expressions. New ones may use what `compatibility` (a minor version of Kubernetes 1)
 * has; stored ones may use everything, so that they keep evaluating.
 */
export function kubernetesEnvironment(origin: ExpressionOrigin, compatibility = DEFAULT_COMPATIBILITY): Environment {
  const version = origin === 'stored' ? Infinity : compatibility;
  const key = String(version);
  let environment = environments.get(key);
  if (environment === undefined) environments.set(key, (environment = create(version)));
  return environment;
}

function create(version: number): Environment {
  const enabled = LIBRARIES.filter(({ since, until }) => since <= version && (until === undefined || version < until));
  return Environment.create({
    libraries: enabled.map(({ library }) => library),
    homogeneous: true,
    optionalSyntax: version >= 28,
    crossTypeComparisons: version >= 28,
    validateLiterals: version >= 29,
  });
}
