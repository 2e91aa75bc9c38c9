/** Annotation of a ResourceDefinition that an Adoption created: the stage of the adoption. */
export const ADOPTION_STAGE = 'kubeannex.io/adoption';

/**
 * Annotation of a ResourceDefinition whose group goes back to the cluster: the newest revision that lists show. It is part of the definition,
 * so that every replica shows the same, and lies ahead of the log, because a replica that has not read it yet shows newer states as they
 * come: a client that lists from one replica after the other would see the revision go back.
 */
export const ADOPTION_LAST_REVISION = 'kubeannex.io/adoption-last-revision';

/** Prefix of the names of the objects that an adoption creates in the cluster. */
export const ADOPTION_PREFIX = 'annex-adoption.';

/** Reports whether a configuration belongs to an adoption: it concerns the cluster's own copy of what Annex serves. */
export const isOfAdoption = (name: string): boolean => name.startsWith(ADOPTION_PREFIX);
