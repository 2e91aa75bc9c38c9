import { ApiError } from '../apimachinery/errors.js';
import { deepCopy, type JsonObject, objectAt, stringAt } from '../apimachinery/json.js';
import { formatTime, type KubeObject } from '../apimachinery/meta.js';
import type { TypeClient } from '../registry/rest/type-client.js';
import type { Clock } from '../util/clock.js';

const CONDITION = 'Registered';

/** Says in the status of definitions whether their group version is registered with the cluster. */
export class DefinitionRegistration {
  private readonly definitions = new Map<string, KubeObject>();

  constructor(
    private readonly client: TypeClient,
    private readonly clock: Clock,
    private readonly failed: (name: string, error: unknown) => void,
  ) {}

  start(signal: AbortSignal): void {
    this.client.watch(
      {
        upsert: (definition) => void this.definitions.set(definition.metadata.name ?? '', definition),
        delete: (definition) => void this.definitions.delete(definition.metadata.name ?? ''),
        reset: () => {
          this.definitions.clear();
        },
        synced: () => undefined,
      },
      signal,
    );
  }

  registered(group: string, version: string): void {
    this.tell(
      group,
      version,
      'True',
      'APIServiceRegistered',
      `the group version ${group}/${version} is registered with the cluster`,
    );
  }

  /** The group version belongs to somebody else. */
  refused(group: string, version: string, why: string): void {
    this.tell(
      group,
      version,
      'False',
      'GroupVersionTaken',
      `the group version ${group}/${version} cannot be registered: ${why}`,
    );
  }

  private tell(group: string, version: string, status: string, reason: string, message: string): void {
    for (const definition of this.definitions.values()) {
      const spec = objectAt(definition, 'spec');
      const versions = Array.isArray(spec?.['versions']) ? (spec['versions'] as JsonObject[]) : [];
      if (stringAt(spec, 'group') !== group || !versions.some((one) => stringAt(one, 'name') === version)) continue;
      const next = withCondition(definition, { type: CONDITION, status, reason, message }, this.clock.now());
      if (next === undefined) continue;
      this.client.updateStatus(next).catch((error: unknown) => {
        // Somebody was faster: the next look at the APIService tells again.
        if (!(error instanceof ApiError && (error.code === 409 || error.code === 404))) {
          this.failed(definition.metadata.name ?? '', error);
        }
      });
    }
  }
}

/** Undefined where the condition is there already. */
function withCondition(definition: KubeObject, condition: JsonObject, now: number): KubeObject | undefined {
  const next = deepCopy(definition);
  const status = objectAt(next, 'status') ?? {};
  const conditions = Array.isArray(status['conditions']) ? (status['conditions'] as JsonObject[]) : [];
  const old = conditions.find((one) => one['type'] === condition['type']);
  const unchanged = old !== undefined && old['status'] === condition['status'];
  if (unchanged && old['message'] === condition['message']) return undefined;
  const lastTransitionTime = unchanged ? old['lastTransitionTime'] : formatTime(now);
  status['conditions'] = [...conditions.filter((one) => one !== old), { ...condition, lastTransitionTime }];
  next['status'] = status;
  return next;
}
