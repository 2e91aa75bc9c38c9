import type { GroupVersionKind } from '../../../apimachinery/meta/meta.js';
import type { AdmissionSources, ParamSource } from '../../sources.js';

interface NamesParams {
  paramKinds(): readonly GroupVersionKind[];
  subscribe(listener: () => void): void;
}

const known = new WeakMap<ParamSource, ParamKinds>();

/** Collects the paramKinds of the policies of both plugins, which share one source. */
export class ParamKinds {
  private readonly followed: NamesParams[] = [];

  private constructor(private readonly source: ParamSource) {}

  static of({ params }: AdmissionSources): ParamKinds {
    let kinds = known.get(params);
    if (kinds === undefined) known.set(params, (kinds = new ParamKinds(params)));
    return kinds;
  }

  follow(policies: NamesParams): void {
    this.followed.push(policies);
    policies.subscribe(() => this.source.retain(this.followed.flatMap((one) => one.paramKinds())));
  }
}
