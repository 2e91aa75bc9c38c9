import type { UserInfo } from '../../authentication/user/user.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import { splitKey } from '../../registry/generic/store/resource-store.js';
import type { RequestContext } from '../../request/context.js';
import { typeOfName } from '../names.js';

/** Reports whether a user may get an object, and so its earlier states. Asks once for each type, namespace or name, whichever decides. */
export class Readable {
  private readonly known = new Map<string, Promise<boolean>>();

  constructor(
    private readonly authorizer: Authorizer,
    private readonly context: Pick<RequestContext, 'user' | 'signal'>,
  ) {}

  async mayGet(resource: string, key: string): Promise<boolean> {
    const { namespace, name } = splitKey(key);
    if (await this.allowed(resource, '', '')) return true;
    if (namespace !== '' && (await this.allowed(resource, namespace, ''))) return true;
    return this.allowed(resource, namespace, name);
  }

  private allowed(resource: string, namespace: string, name: string): Promise<boolean> {
    const id = `${resource}\0${namespace}\0${name}`;
    let answer = this.known.get(id);
    if (answer === undefined) this.known.set(id, (answer = this.ask(resource, namespace, name)));
    return answer;
  }

  private async ask(stored: string, namespace: string, name: string): Promise<boolean> {
    const { user, signal } = this.context;
    return mayDo(this.authorizer, { user, verb: 'get', stored, namespace, name }, signal);
  }
}

interface Wanted {
  readonly user: UserInfo;
  readonly verb: string;
  /** The name of the type in the store. */
  readonly stored: string;
  readonly namespace: string;
  readonly name: string;
}

async function mayDo(
  authorizer: Authorizer,
  { user, verb, stored, namespace, name }: Wanted,
  signal: AbortSignal,
): Promise<boolean> {
  const { group: apiGroup, resource } = typeOfName(stored);
  const { decision } = await authorizer.authorize(
    {
      user,
      verb,
      resourceRequest: true,
      namespace,
      apiGroup,
      apiVersion: '*',
      resource,
      subresource: '',
      name,
      path: '',
    },
    signal,
  );
  return decision === 'allow';
}
